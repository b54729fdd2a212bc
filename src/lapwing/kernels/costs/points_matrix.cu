// The matrix of the costs of points, written once. For points of many dimensions, reading a cost is faster than
// computing it again.
//
//   write_matrix    out[i * pitch + j] = the cost of line i and position j, one tile of them per block. The coordinates
//                   pass through shared memory, tile_depth dimensions at a time, with one barrier each: while a block
//                   adds these dimensions, the next ones are on their way to the other half of the memory. Sums are in
//                   registers. Operations: those of the definition, three per dimension of a squared distance. Bytes:
//                   pairs * sizeof(Cost) written; coordinates read, mostly from L2: 1 / tile_lines + 1 / tile_positions
//                   coordinates per pair and dimension.
//
// Costs have the bits of all other code (costs/points.cuh): the same operations on the same numbers in the same order.
#include "costs/costs.cuh"
#include "costs/tuning.cuh"
#include "source"

constexpr uint32 kSide = TileTuning::tile_side, kDepth = TileTuning::tile_depth;
constexpr uint32 kOwnLines = TileTuning::own_lines * 4 / sizeof(Cost);
// Several terms need their sum and the total at once, library functions much code, 8 bytes two registers: half a tile
// at a time.
constexpr uint32 kHalves = sizeof(Cost) == 4 && is_one_short_term(Source::All{}) ? 1 : 2;
constexpr uint32 kOwnPositions = TileTuning::own_positions / kHalves;
constexpr uint32 kTileLines = kSide * kOwnLines, kTilePositions = kSide * kOwnPositions;
constexpr uint32 kPack = Pack<Cost>::size, kPacks = kOwnPositions / kPack;
static_assert(THREADS == kSide * kSide && kOwnLines % kPack == 0 && kOwnPositions % kPack == 0);

// Coordinates of a tile's points, of these dimensions and the next ones. All threads of the block write and read them.
struct TilePoints {
    alignas(16) Cost lines[2][kDepth][kTileLines], positions[2][kDepth][kTilePositions];
};
// The beginning of the tile, and the numbers of lines and positions.
struct Tile {
    int64 line, position, lines, positions;
};
// A thread's costs, or sums: of successive lines, and of packs of positions that are kSide packs apart.
using OwnCosts = Cost[kOwnLines][kOwnPositions];

__device__ inline uint32 own_line() { return threadIdx.x / kSide * kOwnLines; }
__device__ inline uint32 own_position(uint32 pack) { return (pack * kSide + threadIdx.x % kSide) * kPack; }

// Coordinates on their way to shared memory: of kCount points, kDepth dimensions at a time.
template <uint32 kCount>
struct OnTheWay {
    static constexpr uint32 kAtOnce = THREADS / kCount, kTurns = kDepth / kAtOnce;
    static_assert(THREADS % kCount == 0 && kDepth % kAtOnce == 0);
    const Cost* next;     // this thread's point, in the next dimension that it loads
    int64 step;           // from one of its dimensions to the next
    uint32 left;          // dimensions from there on
    Cost values[kTurns];  // the last ones loaded

    // Past the end: the last point.
    __device__ OnTheWay(const Cost* from, int64 stride, uint32 dims, int64 first, int64 end) {
        const uint32 p = threadIdx.x % kCount, k = threadIdx.x / kCount;
        next = from + (first + p < end ? first + p : end - 1) + k * stride;
        step = kAtOnce * stride;
        left = k < dims ? dims - k : 0;
    }
    __device__ void load() {
#pragma unroll
        for (uint32 n = 0; n < kTurns; ++n) {
            values[n] = left > n * kAtOnce ? __ldg(next) : Cost{0};
            next += step;
        }
        left -= left < kDepth ? left : kDepth;
    }
    __device__ void store(Cost (&to)[kDepth][kCount]) const {
#pragma unroll
        for (uint32 n = 0; n < kTurns; ++n) to[n * kAtOnce + threadIdx.x / kCount][threadIdx.x % kCount] = values[n];
    }
};

template <uint32 n>
__device__ inline void load_packs(const Cost* from, Cost (&out)[n]) {
#pragma unroll
    for (uint32 k = 0; k < n; k += kPack) {
        const auto pack = *reinterpret_cast<const Pack<Cost>*>(from + k);
#pragma unroll
        for (uint32 e = 0; e < kPack; ++e) out[k + e] = pack.values[e];
    }
}

// sum += one dimension.
template <class One>
__device__ inline void add_dimension(const TilePoints& here, uint32 half, uint32 k, Cost power, OwnCosts& sum) {
    Cost a[kOwnLines], b[kPacks][kPack];
    load_packs(here.lines[half][k] + own_line(), a);
#pragma unroll
    for (uint32 p = 0; p < kPacks; ++p) load_packs(here.positions[half][k] + own_position(p), b[p]);
#pragma unroll
    for (uint32 r = 0; r < kOwnLines; ++r) {
#pragma unroll
        for (uint32 c = 0; c < kOwnPositions; ++c)
            sum[r][c] = One::added(sum[r][c], a[r], b[c / kPack][c % kPack], power, false);
    }
}

// The sum of all dimensions of one term. Contains barriers of the block, the last of them after all reads.
template <class One, class Data>
__device__ inline void add_dimensions(TilePoints& here, const Data& term, const Tile& tile, OwnCosts& sum) {
    constexpr uint32 kUnrolled = One::is_short ? TileTuning::dimensions_at_once : 1;
    const Cost power = static_cast<Cost>(term.power);
    const uint32 dims = static_cast<uint32>(term.dims);
    OnTheWay<kTileLines> lines(term.lines, term.line_stride, dims, tile.line, tile.lines);
    OnTheWay<kTilePositions> positions(term.positions, term.position_stride, dims, tile.position, tile.positions);
    const auto load = [&] { lines.load(), positions.load(); };
    const auto store = [&](uint32 half) { lines.store(here.lines[half]), positions.store(here.positions[half]); };
    load();
    store(0);
    __syncthreads();
    uint32 half = 0;
    for (uint32 left = dims; left > 0; half ^= 1) {
        const uint32 depth = left < kDepth ? left : kDepth;
        left -= depth;
        if (left > 0) load();
        if (depth == kDepth) {
#pragma unroll(kUnrolled)
            for (uint32 k = 0; k < kDepth; ++k) add_dimension<One>(here, half, k, power, sum);
        } else {
#pragma unroll 1
            for (uint32 k = 0; k < depth; ++k) add_dimension<One>(here, half, k, power, sum);
        }
        if (left > 0) store(half ^ 1);
        __syncthreads();
    }
}

template <bool kFirst, class Data>
__device__ inline void add_terms(TermList<>, const Data*, TilePoints&, const Tile&, OwnCosts&) {}
// total += all terms from this one on.
template <bool kFirst, class Data, class One, class... Rest>
__device__ inline void add_terms(TermList<One, Rest...>, const Data* at, TilePoints& here, const Tile& tile,
                                 OwnCosts& total) {
    const Data term = *at;
    OwnCosts sum = {};
    add_dimensions<One>(here, term, tile, sum);
#pragma unroll
    for (uint32 r = 0; r < kOwnLines; ++r) {
#pragma unroll
        for (uint32 c = 0; c < kOwnPositions; ++c) {
            const Cost cost = One::finished(sum[r][c], static_cast<Cost>(term.power));
            if constexpr (One::weighted)
                total[r][c] = total[r][c] + One::weighed(cost, term);
            else
                total[r][c] = kFirst ? cost : total[r][c] + cost;
        }
    }
    add_terms<false>(TermList<Rest...>{}, at + 1, here, tile, total);
}

// Computes the costs of one tile. A row of `out` begins at a multiple of 16 bytes and may be written up to its pitch.
__device__ inline void write_tile(const Source::Block& block, TilePoints& here, const Tile& tile, int64 pitch,
                                  Cost* out) {
    OwnCosts total = {};
    add_terms<true>(Source::All{}, block.terms, here, tile, total);
#pragma unroll
    for (uint32 r = 0; r < kOwnLines; ++r) {
        const int64 line = tile.line + own_line() + r;
#pragma unroll
        for (uint32 p = 0; p < kPacks; ++p) {
            const int64 position = tile.position + own_position(p);
            Pack<Cost> pack;
#pragma unroll
            for (uint32 e = 0; e < kPack; ++e) pack.values[e] = total[r][p * kPack + e];
            if (line < tile.lines && position < tile.positions)
                *reinterpret_cast<Pack<Cost>*>(out + line * pitch + position) = pack;
        }
    }
}

// Computes lines `first` .. `end` - 1, one tile per block.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    write_matrix(const Source::Block* block, int64 first, int64 end, int64 positions, int64 pitch, Cost* out) {
    __shared__ TilePoints here;
    const int64 down = (end - first + kTileLines - 1) / kTileLines;
    Tile tile = {first + blockIdx.x % down * kTileLines, blockIdx.x / down * kTilePositions * kHalves, end, positions};
#pragma unroll 1
    for (uint32 half = 0; half < kHalves; ++half, tile.position += kTilePositions)
        write_tile(*block, here, tile, pitch, out);
}
