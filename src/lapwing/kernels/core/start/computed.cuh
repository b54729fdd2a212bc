// Minima over lines of computed costs, of samples or the whole; included by core/start/computed_start.cu. With
// exchanged blocks (costs/computed.cuh), lines are columns, so one kernel serves both.
#pragma once
#include "core/start/sorted.cuh"

// out[r, c] = the cost of row first + r and column c of the sample, for what is small enough to be written out. A block
// for each of `rows`, or several.
extern "C" __global__ void __launch_bounds__(THREADS)
    gather(const Costs::Data* data, int64 run, int64 first, int64 rows, int64 cols, Cost* out) {
    const Costs costs{data, run};
    for (int64 r = blockIdx.x; r < rows; r += gridDim.x) {
        for (int64 c = threadIdx.x; c < cols; c += kThreads) out[r * cols + c] = costs.at(first + r, c);
    }
}

// A line's least cost - price so far, of a lane or the warp.
struct Least {
    Dual value[kLines];
    Margin margin[kLines];
    __device__ void meet(uint32 r, Dual x) {
        value[r] = warp_reduce(x < value[r] ? x : value[r], [](Dual a, Dual b) { return a < b ? a : b; });
        margin[r] = limit_upward(value[r]);
    }
};

// least[k] = min over positions of cost - price, of line k of one sample and the positions of another, for `count`
// lines from `first` on; 0 if all are forbidden. `prices` of the positions, null: zero. `line_salt` says what lines
// are: rows or columns. kLines lines a warp; a row group of the block's after the other.
extern "C" __global__ void __launch_bounds__(THREADS)
    line_bounds(const Costs::Data* data, int64 maximize, int64 first, int64 count, int64 line_run, int64 line_salt,
                int64 positions, int64 position_run, const Dual* prices, Dual* least) {
    const Source source(data);
    const uint32 salt = static_cast<uint32>(line_salt);
    const Positions across{positions, position_run, salt == kRowSalt ? kColSalt : kRowSalt, data->neighbours.positions};
    const Positions along{0, line_run, salt, data->neighbours.lines};
    const int64 end = first + count, group = kThreads / kWarp * kLines;
    for (int64 base = first + blockIdx.x * group; base < end; base += gridDim.x * group) {
        const int64 mine = base + threadIdx.x / kWarp * kLines;
        int64 index[kLines];
        Least best;
#pragma unroll
        for (uint32 r = 0; r < kLines; ++r) {  // past the end: the last one again
            index[r] = along.at(mine + r < end ? mine + r : end - 1);
            best.value[r] = infinity<Dual>();
            best.margin[r] = limit_upward(infinity<Dual>());
        }
        SourceLines lines;
        source.load(index, lines);
        walk(
            source, lines, across, Part{0, 1, mine >= end},
            [=](int64 k) { return prices ? upward(prices[k]) : Margin(0); },
            [&](const Piece& piece) { return near_positions(piece, best.margin, maximize != 0); },
            [&](int64 k, bool there) {
                Source::Position position;
                Cost costs[kLines];
                source.load_position(across.at(there ? k : 0), position);
                source.costs(lines, position, costs);
                const Dual price = prices && there ? prices[k] : Dual(0);
#pragma unroll
                for (uint32 r = 0; r < kLines; ++r)
                    best.meet(r, there ? minimised(costs[r], maximize != 0) - price : infinity<Dual>());
            });
#pragma unroll
        for (uint32 r = 0; r < kLines; ++r) {
            const Dual x = best.value[r];
            if (lane_index() == 0 && mine + r < end)
                least[mine + r] = x < infinity<Dual>() && x > -infinity<Dual>() ? x : Dual(0);
        }
    }
}
