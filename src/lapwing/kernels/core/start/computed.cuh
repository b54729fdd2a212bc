// Minima over lines of computed costs, of samples or the whole; included by core/start/computed_start.cu. With
// exchanged blocks (costs/computed.cuh), lines are columns, so one kernel serves both.
#pragma once
#include "core/start/sorted.cuh"
#include "costs/boxes.cuh"

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

// Prices in boxes (costs/boxes.cuh) of positions, or of a sample of them.
extern "C" __global__ void __launch_bounds__(THREADS)
    price_boxes(const Costs::Data* data, int64 positions, int64 run, const Dual* prices, Margin* in_boxes) {
    __shared__ Margin scratch[kThreads / kWarp];
    price_pieces(
        data, run, positions, blockIdx.x, gridDim.x, run == 1, scratch, [=](int64 k) { return prices[k]; }, in_boxes);
}

// least[k] = min over positions of cost - price, of line k of one sample and the positions of another, for `count`
// lines from `first` on; 0 if all are forbidden. `prices` of the positions, null: zero; `in_boxes`: those of
// price_boxes. `line_salt` says what lines are: rows or columns. kLines lines a warp; a row group of the block's after
// the other. If the positions are in boxes, lines are taken in their own order, so that those of a warp are near each
// other.
extern "C" __global__ void __launch_bounds__(THREADS)
    line_bounds(const Costs::Data* data, int64 maximize, int64 first, int64 count, int64 line_run, int64 line_salt,
                int64 positions, int64 position_run, const Dual* prices, const Margin* in_boxes, Dual* least) {
    const Source source(data);
    const bool by_boxes = has_boxes(data, maximize != 0);
    const BoxOrder order(data, position_run);
    const uint32 salt = static_cast<uint32>(line_salt);
    const Positions across{positions, position_run, salt == kRowSalt ? kColSalt : kRowSalt, data->neighbours.positions};
    const Positions along{0, line_run, salt, data->neighbours.lines};
    const int32* const turns = by_boxes && line_run == 1 ? data->neighbours.lines : nullptr;
    const int64 end = first + count, group = kThreads / kWarp * kLines;
    for (int64 base = first + blockIdx.x * group; base < end; base += gridDim.x * group) {
        const int64 mine = base + threadIdx.x / kWarp * kLines;
        int64 line[kLines], index[kLines];
        Least best;
#pragma unroll
        for (uint32 r = 0; r < kLines; ++r) {  // past the end: the last one again
            line[r] = mine + r < end ? mine + r : end - 1;
            if (turns != nullptr) line[r] = turns[line[r]];
            index[r] = along.at(line[r]);
            best.value[r] = infinity<Dual>();
            best.margin[r] = limit_upward(infinity<Dual>());
        }
        SourceLines lines;
        source.load(index, lines);
        const auto price = [=](int64 k) { return prices ? upward(prices[k]) : Margin(0); };
        const auto near = [&](const Piece& piece) { return near_positions(piece, best.margin, maximize != 0); };
        const auto meet = [&](int64 k, bool there) {
            Source::Position position;
            Cost costs[kLines];
            source.load_position(across.at(there ? k : 0), position);
            source.costs(lines, position, costs);
            const Dual own = prices && there ? prices[k] : Dual(0);
#pragma unroll
            for (uint32 r = 0; r < kLines; ++r)
                best.meet(r, there ? minimised(costs[r], maximize != 0) - own : infinity<Dual>());
        };
        if (!by_boxes) {
            walk(source, lines, across, Part{0, 1, mine >= end}, price, near, meet);
        } else if (mine < end) {
            const Margin* const prices_in_boxes = prices ? in_boxes : nullptr;
            const auto meet_at = [&](int64 place, bool there) { meet(there ? order.at(place) : 0, there); };
            const uint32 start = nearest_piece(data, position_run, positions, index[0], prices_in_boxes);
            walk_boxes(data, lines, across, Part{0, 1, false}, start, best.margin, prices_in_boxes, near, meet_at);
        }
#pragma unroll
        for (uint32 r = 0; r < kLines; ++r) {
            const Dual x = best.value[r];
            if (lane_index() == 0 && mine + r < end)
                least[line[r]] = x < infinity<Dual>() && x > -infinity<Dual>() ? x : Dual(0);
        }
    }
}
