// The answer of a solve in lanes (batch/lanes.cu), and the proof of a doubtful one.
#pragma once
#include "batch/lane_solver.cuh"

// Converts the answer from columns to rows, and to the user's orientation and sense.
template <int32 G>
__device__ void LaneSolver<G>::write() {
    const bool solved = status_ == kSolved, maximize = problem_.maximize, transposed = problem_.transposed;
    const int32 partner = solved ? partner_ : kFree;
    __syncwarp();
    memory_.partner[me_] = kFree;
    memory_.bid[me_] = unmatched_price_;
    __syncwarp();
    if (partner >= 0) {
        memory_.partner[partner] = me_;
        memory_.bid[partner] = partner_dual_;
    }
    __syncwarp();
    check_invariants(solved && present_);
    const int32 column = memory_.partner[me_];
    const Dual row_dual = user_row_dual(me_ < rows_ ? memory_.bid[me_] : 0, maximize);
    const Dual col_dual = user_col_dual(price_, maximize);
    Dual part = 0;
    if (solved && me_ < rows_) part = user_cost(column >= 0 ? memory_.cost[me_][column] : unmatched_price_, maximize);
#pragma unroll
    for (int32 distance = G / 2; distance > 0; distance /= 2) part += __shfl_xor_sync(kAllLanes, part, distance);
    if constexpr (kFloating) {
        const Dual largest = largest_price();
        const bool doubtful = solved && !are_small(largest, part);
        if (__any_sync(kAllLanes, doubtful)) {
            const int32 status = status_by_proof(part);
            if (doubtful) status_ = status;
        }
    }
    if (!present_) return;
    if (me_ == 0) {
        batch_.objective[b_] = solved ? part : no_objective();
        batch_.status[b_] = status_;
    }
    const bool is_row = solved && me_ < rows_, is_col = solved && me_ < cols_;
    if (me_ < batch_.rows) {
        batch_.row_to_col[b_ * batch_.rows + me_] = transposed ? partner : column;
        if (batch_.u != nullptr) {
            const bool has = transposed ? is_col : is_row;
            batch_.u[b_ * batch_.rows + me_] = has ? (transposed ? col_dual : row_dual) : 0;
        }
    }
    if (batch_.v != nullptr && me_ < batch_.cols) {
        const bool has = transposed ? is_row : is_col;
        batch_.v[b_ * batch_.cols + me_] = has ? (transposed ? row_dual : col_dual) : 0;
    }
}

// On the emulator: this lane's column, if it is matched, is tight, and its pairs are feasible with the duals of the
// rows in memory_.bid.
template <int32 G>
__device__ void LaneSolver<G>::check_invariants([[maybe_unused]] bool solved) const {
#ifdef LAPWING_CHECK_INVARIANTS
    for (int32 i = 0; solved && me_ < cols_ && i < rows_; ++i) {
        const Dual cost = memory_.cost[i][me_], u = memory_.bid[i];
        if (i == partner_) require(u == cost - price_, "a matched pair is tight");
        require(is_feasible(cost, u, price_), "the duals are feasible");
    }
#endif
}

// The largest magnitude among the prices of columns, in every lane of the problem, truncated to its high word.
template <int32 G>
__device__ Dual LaneSolver<G>::largest_price() const {
    const int32 mine = me_ < cols_ ? __double2hiint(magnitude(price_)) : 0;
    return __hiloint2double(-least_of(-mine), 0);
}

// The status of an answer whose prices are large; the duals of rows are in memory_.bid. Called by whole warps.
template <int32 G>
__device__ int32 LaneSolver<G>::status_by_proof(Dual objective) const {
    const bool is_col = me_ < cols_, all_match = rows_ == cols_ && batch_.priced == 0;
    const Dual price = is_col ? price_ : 0;
    Dual violation = all_match ? Dual(0) : larger(price, Dual(0)), gap = 0;
#pragma unroll 1
    for (int32 i = 0; i < rows_; ++i) {
        const Dual c = is_col ? memory_.cost[i][me_] : infinity<Dual>();
        if (c < infinity<Dual>()) violation = larger(violation, sum_up(memory_.bid[i], price, -c));
    }
    if (is_col && partner_ < 0) gap = -price;
    if (is_col && partner_ >= 0) gap = sum_up(memory_.cost[partner_][me_], -memory_.bid[partner_], -price);
    if (me_ < rows_ && unmatched_price_ < infinity<Dual>()) {
        const Dual over = sum_up(memory_.bid[me_], -unmatched_price_, 0);
        violation = larger(violation, over);
        if (memory_.partner[me_] < 0) gap = add_up(gap, -over);
    }
#pragma unroll
    for (int32 distance = G / 2; distance > 0; distance /= 2) {
        gap = add_up(gap, __shfl_xor_sync(kAllLanes, gap, distance));
        violation = larger(violation, __shfl_xor_sync(kAllLanes, violation, distance));
    }
    return proven_status(gap, violation, rows_, objective, kTrusted);
}
