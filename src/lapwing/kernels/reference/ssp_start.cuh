// The start of "ssp": prices, the order of the rows, and the epsilons, as in cpp/include/lapwing/ssp/start.inc.hpp. It
// has the same numbers and the same order of sums, so that the phases read the same rows.
//
//   survey_rows  the data that depend on a single row, by the whole grid
//   Start        everything else, by the cluster that searches: rows choose in turn, with one or two barriers each
//
// Cost: a row is read at most six times, and three times if the first estimate is good.
#pragma once
#include "reference/ssp_state.cuh"

namespace ssp {

__device__ inline void survey_rows() {
    Ssp& s = self();
    const Matrix& matrix = s.core.matrix;
    each_warp(matrix.rows, [&](uint64 row) {
        const int32 i = static_cast<int32>(row);
        Dual least = has_unmatched_column(matrix, i) && lane_index() == 0 ? matrix.prices[i] : infinity<Dual>();
        Dual greatest = -infinity<Dual>();
        bool invalid = false;
        for (int32 chunk = 0; chunk < chunks_of(matrix); ++chunk) {
            for_chunk(matrix, i, chunk, nullptr, [&](int32, Dual cost) {
                invalid |= !matrix.valid(cost);
                least = cost < least ? cost : least;
                if (!is_far(cost) && cost > greatest) greatest = cost;
            });
        }
        least = from_order<Dual>(warp_min(ordered(least)));
        greatest = -from_order<Dual>(warp_min(ordered(-greatest)));
        invalid = __any_sync(kAllLanes, invalid) != 0;
        if (lane_index() != 0) return;
        if (invalid) atomicMin(&s.core.report->invalid_row, static_cast<int64>(i));
        Gpus::note_least(s, i, invalid ? Dual(0) : least);
        min_in_global(&s.board->least, ordered(least));
        max_in_global(&s.board->greatest, ordered(greatest));
        const int32 place = i - Gpus::first();
        if (place < 0 || place >= matrix.real_cols()) return;
        const Dual own = matrix.minimised(matrix.costs.row(i)[place]);
        __stcg(s.diagonal + i, own < greatest ? own : greatest);
    });
}

__device__ inline void survey() {
    Ssp& s = self();
    if (is_first_thread()) {
        s.board->least = kFar;
        s.board->greatest = 0;
    }
    each_thread(s.core.matrix.rows, [&](uint32 i) { __stcg(s.core.row_to_col + i, kNone); });
    each_thread(s.core.matrix.cols, [&](uint32 j) { __stcg(s.core.col_to_row + j, kNone); });
    grid_barrier(s.core.barrier, gridDim.x);
    survey_rows();
}

// The starting prices of searches: zero, the estimate for phases with epsilon, or those in State::v.
enum class Prices : int64 { zero = PRICES_ZERO, estimated = PRICES_ESTIMATED, given = PRICES_GIVEN };

// The two smallest of some numbers, and the column of the first.
struct TwoLeast {
    Best first;
    Dual second = infinity<Dual>();

    __device__ void consider(Dual x, int32 j, uint32 at) {
        if (x < first.distance) {
            second = first.distance;
            first.consider(x, j, at);
        } else if (x < second) {
            second = x;
        }
    }
};

class Start : protected Cluster {
  protected:
    __device__ Start() : s_(self()), magnitude_(magnitude()) {}

    // Leaves prices in Columns::v and no column taken; false if the host requests a stop.
    __device__ bool start(Prices prices) {
        each_own_col(matrix_.real_cols(), [&](int32 j, uint32 at) {
            own_.v[at] = prices == Prices::given ? __ldcg(s_.core.v + j) : Dual(0);
            own_.closed[at] = 0;
        });
        const bool small = kFloats || static_cast<double>(magnitude_) * matrix_.rows <= SspTuning::scaling_limit;
        if (prices != Prices::estimated || matrix_.prices != nullptr || !small) return true;
        if (kFloats && magnitude_ > Dual(0)) {
            int exponent = 0;
            frexp(static_cast<double>(magnitude_), &exponent);
            unit_ = ldexp(1.0, exponent - 1 - SspTuning::unit_bits);
        }
        return choose_prices();
    }
    __device__ Dual in_units(double x) const { return static_cast<Dual>(unit_ > 0 ? floor(x / unit_) * unit_ : x); }
    // The k-th row of a phase.
    __device__ int32 row(int32 k, uint32 phase) const {
        if (backwards_ == (phase % 2 == 1)) k = matrix_.rows - 1 - k;
        return by_regret_ ? __ldcg(s_.order + k) : k;
    }

    Ssp& s_;
    Dual epsilon_ = 0;          // of the first phase; 0: none is needed
    double epsilon_least_ = 0;  // below this, scaling ends
    double bound_ = -infinity<double>();

  private:
    static constexpr bool kFloats = Dual(0.5) != Dual(0);
    enum Taken : uint32 { free, by_survey, by_regret, by_greedy };

    struct Bounds {
        double lower, upper;
    };

    // Reads one row of a pass; false if the host requests a stop.
    template <class Visit>
    __device__ bool visit_row(int32 i, Visit visit) {
        count_scan();
        each_own_pack(
            matrix_, i,
            [&](int32 first, uint32 at, const Cost(&costs)[kPackCols]) {
#pragma unroll
                for (int32 k = 0; k < kPackCols; ++k) {
                    if (first + k < matrix_.cols) visit(Gpus::first() + first + k, at + k, matrix_.minimised(costs[k]));
                }
            },
            [] {});
        return !stopped_;
    }
    // Takes the column of `best`, and adds its cost, which only one thread knows.
    __device__ int32 take(const Best& best, Dual cost, Taken by, double& total) {
        const Found chosen = least_of(best, kUnowned, cost, 0, {});
        total += static_cast<double>(chosen.col < 0 ? magnitude_ : chosen.number);
        if (chosen.col >= 0 && has(chosen.col)) own_.closed[place_of(chosen.col)] = by;
        return chosen.col;
    }
    // The largest |cost|.
    __device__ static Dual magnitude() {
        const ssp::Board& board = *self().board;
        const Dual least = from_order<Dual>(__ldcg(&board.least)), greatest = from_order<Dual>(__ldcg(&board.greatest));
        return greatest < -least ? -least : greatest;
    }
    __device__ void no_greater(double upper) { upper_ = upper < upper_ ? upper : upper_; }

    __device__ bool choose_prices() {
        Bounds bounds;
        if (!survey_cols() || !find_regrets(bounds)) return false;
        double gap = (upper_ < bounds.upper ? upper_ : bounds.upper) - bounds.lower;
        if (gap_ < gap / SspTuning::good_gap) {
            order_rows();
            if (!choose_greedily(bounds) || !reverse() || !find_bound(bounds)) return false;
            gap = bounds.upper - bounds.lower;
            const double share = greedy_gap_ > 0 ? gap / greedy_gap_ : 0;
            blend(share < 0 ? 0 : share > 1 ? 1 : share);
        }
        choose_epsilon(gap);
        each_own_col(matrix_.cols, [&](int32, uint32 at) { own_.closed[at] = free; });
        return true;
    }

    // A greedy choice in the order of the rows. v: the second smallest, in each column, of the costs minus their rows'
    // minima.
    __device__ bool survey_cols() {
        Dual *first = own_.distance, *second = own_.v;
        each_own_col(matrix_.cols, [&](int32, uint32 at) { first[at] = second[at] = infinity<Dual>(); });
        double lower = 0, greedy = 0, diagonal = 0;
        for (int32 i = 0; i < matrix_.rows; ++i) {
            const Dual row_least = __ldcg(s_.row_least + i);
            Best left;
            const bool goes_on = visit_row(i, [&](int32 j, uint32 at, Dual cost) {
                const Dual x = cost - row_least;
                if (x < second[at]) second[at] = x < first[at] ? first[at] : x;
                if (x < first[at]) first[at] = x;
                if (own_.closed[at] != by_survey) left.consider(cost, j, at);
            });
            if (!goes_on) return false;
            lower += static_cast<double>(row_least);
            diagonal += static_cast<double>(__ldcg(s_.diagonal + i));
            take(left, left.distance, by_survey, greedy);
        }
        bound_ = lower;
        gap_ = diagonal - lower;
        no_greater(greedy);
        no_greater(diagonal);
        greedy_gap_ = upper_ - lower;
        const int32 spare = Gpus::all_cols(matrix_.rows, matrix_.cols) - matrix_.rows;
        each_own_col(matrix_.cols, [&](int32, uint32 at) {
            if (spare > 1) second[at] = 0;  // a virtual row's price
            if (spare == 1) second[at] = first[at];
            if (is_far(second[at])) second[at] = is_far(first[at]) ? Dual(0) : first[at];
        });
        make_nonpositive(second);
        return true;
    }

    // Computes each row's preference for its best column, a greedy choice from the last row to the first, and a lower
    // bound.
    __device__ bool find_regrets(Bounds& bounds) {
        bounds = {sum(own_.v), 0};
        for (int32 i = matrix_.rows - 1; i >= 0; --i) {
            TwoLeast all;
            Best left;
            Dual first_cost = 0, left_cost = 0;
            const bool goes_on = visit_row(i, [&](int32 j, uint32 at, Dual cost) {
                const Dual x = cost - own_.v[at];
                all.consider(x, j, at);
                if (all.first.at == at) first_cost = cost;
                if (own_.closed[at] == by_regret) return;
                left.consider(x, j, at);
                if (left.at == at) left_cost = cost;
            });
            if (!goes_on) return false;
            const bool taken = own_.closed[all.first.at] == by_regret;
            const Found least = least_of(all.first, kUnowned, first_cost, taken, {});
            if (least.col >= 0 && has(least.col)) all.first.distance = all.second;
            const Found second = least_of(all.first);
            if (leads()) __stcg(s_.regret + i, second.col < 0 ? infinity<Dual>() : second.distance - least.distance);
            bounds.lower += static_cast<double>(least.distance);
            if (least.word != 0) {
                take(left, left_cost, by_regret, bounds.upper);
                continue;
            }
            bounds.upper += static_cast<double>(least.number);
            if (has(least.col)) own_.closed[place_of(least.col)] = by_regret;
        }
        no_greater(bounds.upper);
        raise_bound(bounds.lower);
        return true;
    }

    // Greatest regret first, and the last row among equals. A row's place is the number of rows before it.
    __device__ void order_rows() {
        barrier();
        by_regret_ = true;
        const uint32 rows = matrix_.rows, warps = members() / kWarp;
        for (uint32 row = member() / kWarp; row < rows; row += warps) {
            const Dual mine = __ldcg(s_.regret + row);
            const uint32 place = warp_count(rows, [&](uint32 k) {
                const Dual other = load_stable(s_.regret + k);
                return other > mine || (other == mine && k > row);
            });
            if (lane_index() == 0) __stcg(s_.order + place, static_cast<int32>(row));
        }
        barrier();
    }

    __device__ bool choose_greedily(Bounds& bounds) {
        bounds.upper = 0;
        for (int32 k = 0; k < matrix_.rows; ++k) {
            const int32 i = __ldcg(s_.order + k);
            Best left;
            Dual left_cost = 0;
            const bool goes_on = visit_row(i, [&](int32 j, uint32 at, Dual cost) {
                if (own_.closed[at] == by_greedy) return;
                left.consider(cost - own_.v[at], j, at);
                if (left.at == at) left_cost = cost;
            });
            if (!goes_on) return false;
            const int32 col = take(left, left_cost, by_greedy, bounds.upper);
            if (leads()) __stcg(s_.chosen + i, col);
        }
        barrier();
        return true;
    }

    // Prices under which that choice is stable, in Columns::distance. From the last row to choose to the first, the
    // columns taken before it fall until the row does not prefer them.
    __device__ bool reverse() {
        Dual* price = own_.distance;
        Best spare;
        each_own_col(matrix_.cols, [&](int32 j, uint32 at) {
            price[at] = own_.v[at];
            if (own_.closed[at] != by_greedy) spare.consider(price[at], j, at);
        });
        const Dual floor = least_of(spare).distance;  // the virtual rows choose last
        each_own_col(matrix_.cols, [&](int32, uint32 at) {
            if (own_.closed[at] == by_greedy && floor < price[at]) price[at] = floor;
        });
        for (int32 k = matrix_.rows - 1; k >= 0; --k) {
            const int32 i = __ldcg(s_.order + k), col = __ldcg(s_.chosen + i);
            Dual ceiling = magnitude_;
            if (col >= 0) {
                prefetch_own(matrix_, i);
                Best chosen;
                if (has(col)) {
                    const uint32 at = place_of(col);
                    own_.closed[at] = free;
                    chosen.consider(matrix_.minimised(matrix_.costs.row(i)[col - Gpus::first()]) - price[at], col, at);
                }
                ceiling = least_of(chosen).distance;
            }
            const bool goes_on = visit_row(i, [&](int32, uint32 at, Dual cost) {
                const Dual excess = ceiling - (cost - price[at]);
                if (own_.closed[at] == by_greedy && excess > Dual(0)) price[at] -= excess;
            });
            if (!goes_on) return false;
        }
        make_nonpositive(price);
        return true;
    }

    __device__ bool find_bound(Bounds& bounds) {
        double lower = sum(own_.distance);
        for (int32 k = 0; k < matrix_.rows; ++k) {
            Best best;
            const bool goes_on = visit_row(__ldcg(s_.order + k), [&](int32 j, uint32 at, Dual cost) {
                best.consider(cost - own_.distance[at], j, at);
            });
            if (!goes_on) return false;
            lower += static_cast<double>(least_of(best).distance);
        }
        bounds.lower = lower > bounds.lower ? lower : bounds.lower;
        raise_bound(lower);
        return true;
    }

    __device__ void blend(double share) {
        each_own_col(matrix_.cols, [&](int32, uint32 at) {
            const double mean =
                static_cast<double>(own_.v[at]) * share + static_cast<double>(own_.distance[at]) * (1 - share);
            own_.v[at] = share > SspTuning::pure_greedy ? in_units(mean) : own_.distance[at];
        });
    }

    __device__ void choose_epsilon(double gap) {
        gap = gap < gap_ * SspTuning::good_gap ? gap : gap_ * SspTuning::good_gap;
        const auto rows = static_cast<double>(matrix_.rows),
                   cols = static_cast<double>(Gpus::all_cols(matrix_.rows, matrix_.cols));
        const double first = gap <= SspTuning::nothing_left * gap_ ? 0 : rows * gap * sqrt(gap / gap_) / (cols * cols);
        const double least = gap_ * SspTuning::least_per_gap / (cols * cols);
        if (first < infinity<double>() && first >= least && first > 0) {
            epsilon_ = in_units(first);
            epsilon_least_ = least;
        }
        if (epsilon_ > Dual(0))
            by_regret_ = false;
        else
            backwards_ = true;
    }

    __device__ void raise_bound(double lower) { bound_ = lower > bound_ ? lower : bound_; }
    __device__ void make_nonpositive(Dual* v) {
        Best least;
        each_own_col(matrix_.cols, [&](int32 j, uint32 at) { least.consider(-v[at], j, at); });
        const Dual greatest = -least_of(least).distance;
        each_own_col(matrix_.cols, [&](int32, uint32 at) { v[at] -= greatest; });
    }
    // Adds in the order of the columns.
    __device__ double sum(const Dual* v) {
        barrier();
        each_own_col(matrix_.cols, [&](int32 j, uint32 at) { __stcg(s_.core.v + (j - Gpus::first()), v[at]); });
        barrier();
        double total = 0;
#pragma unroll 8
        for (int32 j = 0; j < matrix_.cols; ++j) total += static_cast<double>(load_stable(s_.core.v + j));
        return sum_of_gpus(total);
    }

    const Dual magnitude_;  // largest |cost|
    double unit_ = 0;       // of prices and epsilons: keeps sums on a binary grid
    double gap_ = 0, greedy_gap_ = 0;
    double upper_ = infinity<double>();
    bool by_regret_ = false, backwards_ = false;  // the order of the rows
};

}  // namespace ssp
