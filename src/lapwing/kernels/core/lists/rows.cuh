// One row, read by a block: a matrix 16 bytes at a time where rows are aligned, computed costs one by one, of a row of
// the host its row cache.
#pragma once
#include "core/state.cuh"

#if !defined(COMPUTED) && !defined(STORED)

// Packs of 16 bytes that a thread has in flight; small costs have many prices.
constexpr int32 kPacksAhead = sizeof(Cost) >= 4 ? Tuning::packs_ahead : sizeof(Cost);

// The prices of a pack's columns. `frozen`: no thread writes prices while the kernel runs, so that L1 may keep them.
template <bool frozen>
__device__ inline void load_prices(const Dual* from, Dual* to) {
#pragma unroll
    for (uint32 k = 0; k < Pack<Cost>::size; k += 2) {
        using Two = longlong2;
        const Two* two = reinterpret_cast<const Two*>(from + k);
        const Two x = frozen ? *two : __ldcg(two);
        memcpy(to + k, &x, 16);
    }
}

// f(col, cost as minimised, cost - v) for this thread's share of row i. `frozen`: no thread writes prices while the
// kernel runs.
template <bool frozen, class F>
__device__ void for_share(const State& state, int32 i, F f) {
    constexpr int32 size = Pack<Cost>::size;
    const Matrix& matrix = state.matrix;
    const Cost* row = matrix.costs.row(i);
    const int32 cols = matrix.real_cols(), packs = matrix.costs.aligned() ? cols / size : 0;
    for (int32 base = threadIdx.x; base < packs; base += kPacksAhead * blockDim.x) {
        Pack<Cost> pack[kPacksAhead];
        Dual v[kPacksAhead][size];
#pragma unroll
        for (int32 a = 0; a < kPacksAhead; ++a) {
            const int32 p = base + a * blockDim.x;
            if (p >= packs) break;
            pack[a] = load_pack(row + p * static_cast<int64>(size));
            if (!frozen) load_prices<frozen>(state.v + p * size, v[a]);  // from afar, so early
        }
#pragma unroll
        for (int32 a = 0; a < kPacksAhead; ++a) {
            const int32 p = base + a * blockDim.x;
            if (p >= packs) break;
            if (frozen) load_prices<frozen>(state.v + p * size, v[a]);
#pragma unroll
            for (int32 k = 0; k < size; ++k) {
                const Dual cost = matrix.minimised(pack[a].values[k]);
                f(p * size + k, cost, cost - v[a][k]);
            }
        }
    }
    for (int32 j = packs * size + threadIdx.x; j < cols; j += blockDim.x) {
        const Dual cost = matrix.minimised(row[j]);
        f(j, cost, cost - __ldcg(state.v + j));
    }
    if (matrix.prices != nullptr && threadIdx.x == 0) {
        const Dual cost = matrix.unmatched_cost(i);
        if (cost < infinity<Dual>()) f(cols + i, cost, cost - __ldcg(state.v + cols + i));
    }
}

// How many threads of a block, if there are so many, have a share of a row.
__device__ inline uint32 sharing_threads(const Matrix& matrix) {
    constexpr int32 size = Pack<Cost>::size;
    const int32 tail = matrix.cols % size, packs = matrix.cols / size, shares = packs > tail ? packs : tail;
    return matrix.costs.aligned() ? shares : matrix.cols;
}

#elif defined(STORED)

// The cached columns alone, in any order.
template <bool frozen, class F>
__device__ void for_share(const State& state, int32 i, F f) {
    const Matrix& matrix = state.matrix;
    const Costs::Data& data = *matrix.costs.data;
    const int64 cached = i * data.depth;
    const int32 count = data.cached_count[i], cols = matrix.real_cols();
    for (int32 k = threadIdx.x; k < count; k += blockDim.x) {
        const int32 j = data.cached_col[cached + k];
        const Dual cost = matrix.minimised(data.cached_cost[cached + k]);
        f(j, cost, cost - (frozen ? state.v[j] : __ldcg(state.v + j)));
    }
    if (matrix.prices != nullptr && threadIdx.x == 0) {
        const Dual cost = matrix.unmatched_cost(i);
        if (cost < infinity<Dual>()) f(cols + i, cost, cost - __ldcg(state.v + cols + i));
    }
}
__device__ inline uint32 sharing_threads(const Matrix& matrix) { return static_cast<uint32>(matrix.costs.data->depth); }

#else

template <bool frozen, class F>
__device__ void for_share(const State& state, int32 i, F f) {
    const Matrix& matrix = state.matrix;
    const Costs costs = matrix.costs;
    const Source source(costs.data);
    const int64 index[1] = {costs.row(i)};
    Source::Lines<1> line;
    source.load(index, line);
    const int32 cols = matrix.real_cols();
    for (int32 j = threadIdx.x; j < cols; j += blockDim.x) {
        Source::Position position;
        Cost made[1];
        source.load_position(costs.col(j), position);
        source.costs(line, position, made);
        const Dual cost = matrix.minimised(made[0]);
        f(j, cost, cost - (frozen ? state.v[j] : __ldcg(state.v + j)));
    }
    if (matrix.prices != nullptr && threadIdx.x == 0) {
        const Dual cost = matrix.unmatched_cost(i);
        if (cost < infinity<Dual>()) f(cols + i, cost, cost - __ldcg(state.v + cols + i));
    }
}

#endif

// All columns of a row, of which a thread has several in flight; where only a row cache is read for lists, the row must
// be here.
class FullRow {
  public:
#ifdef COMPUTED
    static constexpr uint32 kAtOnce = kAhead;

    __device__ FullRow(const Matrix& matrix, int32 i)
        : matrix_(matrix), row_(i), unmatched_cost_(unmatched_cost_of(i)), source_(matrix.costs.data) {
        const int64 index[1] = {matrix.costs.row(i)};
        source_.load(index, line_);
    }
#else
    static constexpr uint32 kAtOnce = Tuning::full_row_ahead;

    __device__ FullRow(const Matrix& matrix, int32 i)
        : matrix_(matrix), row_(i), unmatched_cost_(unmatched_cost_of(i)) {}
#endif

    // Of some columns, and how far each was reached.
    struct Part {
        int32 col[kAtOnce];  // kNone: there is none, or it is `own`
        Dual cost[kAtOnce], v[kAtOnce];
        uint64 known[kAtOnce];
    };
    // f(part), for this thread's share of the columns but `own`. Every thread of the block calls it as often as the
    // others.
    template <class F>
    __device__ void each_part(const State& state, int32 own, F f) const {
        const int32 cols = matrix_.cols, at_once = static_cast<int32>(kAtOnce * blockDim.x);
        for (int32 base = static_cast<int32>(threadIdx.x); base - static_cast<int32>(threadIdx.x) < cols;
             base += at_once) {
            Part part;
            int32 at[kAtOnce];
#pragma unroll
            for (uint32 k = 0; k < kAtOnce; ++k) {
                const int32 j = base + static_cast<int32>(k * blockDim.x);
                at[k] = j < cols ? j : cols - 1;
                part.col[k] = j < cols && j != own ? j : kNone;
                part.v[k] = load_stable(state.v + at[k]);
                part.known[k] = __ldcg(state.distance + at[k]);
            }
            load_costs(at, part.cost);
            f(part);
        }
    }

  private:
    const Matrix& matrix_;
    int32 row_;
    Dual unmatched_cost_;  // what its unmatched column costs, if it has one

    __device__ Dual unmatched_cost_of(int32 i) const {
        return matrix_.prices == nullptr ? infinity<Dual>() : matrix_.unmatched_cost(i);
    }
    // As minimised; infinity for what the row must not have. There are real columns.
    __device__ void load_costs(const int32 (&col)[kAtOnce], Dual (&cost)[kAtOnce]) const {
        const int32 last = matrix_.real_cols() - 1;
        Cost given[kAtOnce];
        load_given(col, last, given);
#pragma unroll
        for (uint32 k = 0; k < kAtOnce; ++k) {
            cost[k] = col[k] <= last              ? matrix_.minimised(given[k])
                      : col[k] - last - 1 == row_ ? unmatched_cost_
                                                  : infinity<Dual>();
        }
    }
#ifdef COMPUTED
    const Source source_;
    Source::Lines<1> line_;

    __device__ void load_given(const int32 (&col)[kAtOnce], int32 last, Cost (&given)[kAtOnce]) const {
        Source::Position position[kAtOnce];
#pragma unroll
        for (uint32 k = 0; k < kAtOnce; ++k)
            source_.load_position(matrix_.costs.col(col[k] < last ? col[k] : last), position[k]);
#pragma unroll
        for (uint32 k = 0; k < kAtOnce; ++k) {
            Cost made[1];
            source_.costs(line_, position[k], made);
            given[k] = made[0];
        }
    }
#else
    __device__ void load_given(const int32 (&col)[kAtOnce], int32 last, Cost (&given)[kAtOnce]) const {
#pragma unroll
        for (uint32 k = 0; k < kAtOnce; ++k) given[k] = matrix_.costs.at(row_, col[k] < last ? col[k] : last);
    }
#endif
};
