// Method "ssp": shortest augmenting paths with epsilon-pricing on full rows (Algorithm 1015), searched by one cluster.
//
// Problem   the linear assignment problem of struct Matrix.
// Method    A survey by the whole grid (ssp_start.cuh). Then, by a cluster of 8 blocks: a greedy assignment in the order of regret, which is an
//           upper bound; prices under which it is stable, which may be a better lower bound; and phases with falling
//           epsilon. Each begins with no assignment and the prices that the last one left, and assigns row after row by a
//           shortest alternating path (Dijkstra, dense) under c - v; u is implicit, since matched pairs are tight. Where plain
//           shortest augmenting paths lower v of the columns closed by a search by (path length - distance), a phase with epsilon
//           lowers it by epsilon at least. The last phase has epsilon = 0, and is exact whatever prices it starts from.
// Schedule  epsilon = min(epsilon / 4, what epsilon added to the fall of prices in the last phase / (8 cols)), then 0.
// Cost      A row is read when its column closes: a column belongs to one thread, which alone touches its distance. A step is the row's
//           costs from L2 or memory, two reductions, a barrier of the cluster and two loads from L2: 1.2 to 1.7 us. Every block
//           has its own nearest column's row prefetched before that barrier. One thread flips the path while the next
//           search begins, so that a search costs no barrier of its own. O(rows^2 cols) at worst, O(rows + cols) memory.
//
// Who orders what: what threads write of their own columns no one else reads but v and its estimate, after a barrier. Predecessors are of two
// searches in turn, so that one is read while the other is written. The matching is written by one thread, between two
// barriers of scans, and read after the second; the prefetch alone may read it before, and nothing depends on that.
//
// Deviations from the paper: no virtual rows. With more columns than rows, or rows that may stay free, there is one phase, without epsilon,
// from v = 0: closed columns are matched, so free ones keep v = 0. Powers of two for epsilon, so that sums stay exact.
// The preference for free columns among equals is the paper's. Rows are kept by the L2 cache.
//
// Reference: S. Guthe, D. Thuerck, "Algorithm 1015: A Fast Scalable Solver for the Dense Linear (Sum) Assignment
// Problem", ACM Transactions on Mathematical Software 47(2), 2021, sections 3 and 4.
#include "ssp_start.cuh"

namespace ssp {

// Chosen for few rows read. The CPU (cpp/src/ssp_start.cpp) starts from means of prices, too, and has a schedule of its own.
struct Tuning {
    static constexpr double epsilon_per_gap = 1.0 / 4;
    static constexpr double least_per_first = 1.0 / 64;
    static constexpr double epsilon_per_cost = 1.0 / (1ll << 40);
    static constexpr double scaling_limit = 1ll << 57;
    static constexpr double divisor = 4, share = 8;
    static constexpr uint32 scans_between_looks = 64;
};

// All threads of the cluster run this alike; what differs are the columns that they have.
class Search {
  public:
    __device__ explicit Search(bool pricing) : s_(self()), matrix_(s_.core.matrix), pricing_(pricing) {}

    __device__ void solve() {
        const Report& report = *s_.core.report;
        Status status = Status::optimal;
        if (__ldcg(&report.invalid_row) < matrix_.rows) {
            status = Status::invalid;
        } else if (__ldcg(&report.empty_row) < matrix_.rows) {
            status = Status::infeasible;
        } else {
            if (starts_ahead()) choose_start();
            status = stopped_ ? Status::stopped : run_phases();
        }
        conclude(status);
    }

  private:
    __device__ bool starts_ahead() const {
        const double magnitude = static_cast<double>(from_order<Dual>(__ldcg(&s_.board->magnitude)));
        return pricing_ && is_square(matrix_) &&
               (Dual(0.5) != Dual(0) || magnitude * matrix_.rows <= Tuning::scaling_limit);
    }
    __device__ bool leads() const { return is_first_thread(); }

    struct Nothing {};
    template <class Offer>
    __device__ Nearest read_row(int32 i, const Dual* by_col, Offer offer) {
        return read_row(
            i, by_col, [](int32) { return Nothing(); },
            [&](Nothing, int32, int32 j, Dual reduced) { return offer(j, reduced); });
    }
    template <class Load, class Offer>
    __device__ Nearest read_row(int32 i, const Dual* by_col, Load load, Offer offer) {
        ++scans_;
        if (leads() && scans_ % Tuning::scans_between_looks == 1) s_.lookout.look(scans_);
        const Nearest nearest = scan(i, turn_, by_col, load, offer);
        stopped_ = stopped_ || nearest.stopped;
        return nearest;
    }

    // --- where to start

    __device__ void choose_start() {
        const auto sum = [&](const Dual* x, uint32 count) {
            return sum_in_block(count, [&](uint32 k) { return static_cast<double>(__ldcg(x + k)); });
        };
        bound_ = sum(s_.row_least, matrix_.rows);
        propose(sum(s_.best, matrix_.rows) + sum(s_.estimate, matrix_.cols));
        const double upper = choose_greedily();
        if (stopped_) return;
        const double rows_bound = reverse();
        if (stopped_) return;
        barrier();
        propose(rows_bound + sum(s_.estimate, matrix_.cols));
        choose_epsilon(upper - bound_);
    }
    // The estimate is the better v.
    __device__ void propose(double bound) {
        if (!(bound > bound_)) return;
        bound_ = bound;
        each_own_col([&](int32 j) { s_.core.v[j] = s_.estimate[j]; });
    }

    // Rows choose the best column left, in their order. Returns what that costs.
    __device__ double choose_greedily() {
        each_own_col([&](int32 j) {
            s_.owned[j] = 0;
            s_.position[j] = kNoRow;
        });
        double total = 0;
        for (int32 k = 0; k < matrix_.rows && !stopped_; ++k) {
            const int32 i = __ldcg(s_.order + k);
            const Nearest chosen = read_row(
                i, s_.estimate, [&](int32 j, Dual reduced) { return s_.owned[j] != 0 ? infinity<Dual>() : reduced; });
            if (leads()) __stcg(s_.greedy + i, chosen.col);
            if (chosen.col < 0) {
                total += static_cast<double>(from_order<Dual>(__ldcg(&s_.board->magnitude)));
                continue;
            }
            total += static_cast<double>(chosen.distance + __ldcg(s_.estimate + chosen.col));
            if (!has(chosen.col)) continue;
            s_.owned[chosen.col] = 1;
            s_.position[chosen.col] = k;
        }
        barrier();
        return total;
    }

    // From the last row to the first: columns chosen before it fall until it does not prefer them. Returns the sum of the rows' least
    // c - v.
    __device__ double reverse() {
        double total = 0;
        for (int32 k = matrix_.rows - 1; k >= 0 && !stopped_; --k) {
            const int32 i = __ldcg(s_.order + k), chosen = __ldcg(s_.greedy + i);
            const Dual ceiling = chosen < 0
                                     ? from_order<Dual>(__ldcg(&s_.board->magnitude))
                                     : matrix_.minimised(matrix_.costs.row(i)[chosen]) - __ldcg(s_.estimate + chosen);
            const Nearest least = read_row(i, s_.estimate, [&](int32 j, Dual reduced) {
                if (!(reduced < ceiling) || s_.position[j] >= k) return reduced;
                s_.estimate[j] -= ceiling - reduced;
                return ceiling;
            });
            total += static_cast<double>(least.distance);
        }
        return total;
    }

    __device__ void choose_epsilon(double gap) {
        const double least =
            static_cast<double>(from_order<Dual>(__ldcg(&s_.board->magnitude))) * Tuning::epsilon_per_cost;
        const double first = gap * Tuning::epsilon_per_gap / matrix_.rows;
        if constexpr (Dual(0.5) != Dual(0)) {
            if (!(first > least) || !(first < infinity<double>())) return;
            epsilon_ = power_of_two(first);
            const double last = epsilon_ * Tuning::least_per_first;
            epsilon_least_ = least > last ? least : last;
        } else {
            epsilon_ = first >= 1 ? static_cast<Dual>(first) : Dual(0);
            const Dual last = static_cast<Dual>(first * Tuning::least_per_first);
            epsilon_least_ = last > Dual(1) ? last : Dual(1);
        }
    }
    __device__ static double power_of_two(double x) {
        int exponent = 0;
        frexp(x, &exponent);
        return ldexp(0.5, exponent);
    }

    // --- phases

    // Of a pack of columns, in a search.
    struct Labels {
        Dual distance[kPackCols];
        uint32 closed[kPackCols];
    };

    __device__ Status run_phases() {
        for (;;) {
            ++phases_;
            begin_phase();
            for (int32 k = 0; k < matrix_.rows; ++k) {
                tell_news(k);
                const int32 i = __ldcg(s_.order + k);
                if (!search(i)) return stopped_ ? Status::stopped : Status::infeasible;
            }
            if (epsilon_ == Dual(0)) return Status::optimal;
            next_epsilon();
        }
    }
    __device__ void begin_phase() {
        barrier();
        each(matrix_.rows, [&](uint32 i) { __stcg(s_.core.row_to_col + i, kNone); });
        each_own_col([&](int32 j) {
            __stcg(s_.core.col_to_row + j, kNone);
            s_.owned[j] = 0;
        });
        fall_ = 0;
        barrier();
    }
    __device__ void next_epsilon() {
        const double mine = warp_reduce(fall_, [](double a, double b) { return a + b; });
        const double all =
            sum_in_block(blockDim.x / kWarp * kWarp, [&](uint32 k) { return k % kWarp == 0 ? mine : 0.0; });
        if (threadIdx.x == 0) s_.core.partial[blockIdx.x] = all;
        barrier();
        double fall = 0;
        for (uint32 b = 0; b < blocks(); ++b) fall += __ldcg(s_.core.partial + b);
        const double share = fall / (Tuning::share * matrix_.cols),
                     part = static_cast<double>(epsilon_) / Tuning::divisor;
        const double next = part < share ? part : share;
        if constexpr (Dual(0.5) != Dual(0))
            epsilon_ = next > 0 ? power_of_two(next) : 0.0;
        else
            epsilon_ = static_cast<Dual>(next);
        if (epsilon_ < epsilon_least_) epsilon_ = 0;
    }

    // Matches row f. False if there is no path, or the host wants an end.
    __device__ bool search(int32 f) {
        ++searches_;
        int32* before = s_.before[searches_ % 2];
        Dual exit = matrix_.prices == nullptr ? infinity<Dual>() : matrix_.prices[f], reached = -infinity<Dual>();
        int32 exit_row = f, end = kNone;
        Nearest nearest = read_row(f, s_.core.v, [&](int32 j, Dual distance) {
            s_.distance[j] = distance;
            __stcg(before + j, f);
            return distance;
        });
        for (;;) {
            if (stopped_) return false;
            const bool by_exit = !is_far(exit) && !(nearest.distance < exit);
            if (!by_exit && nearest.col < 0) return stuck(f);
            const Dual distance = by_exit ? exit : nearest.distance;
            reached = distance > reached ? distance : reached;
            if (by_exit) break;
            const int32 j = nearest.col;
            if (has(j)) {
                s_.closed[j] = searches_;
                s_.distance[j] = reached;
            }
            if (!nearest.owned) {
                end = j;
                break;
            }
            const int32 row = __ldcg(s_.core.col_to_row + j);
            const Dual offset = (__ldcg(s_.pair_cost + j) - __ldcg(s_.core.v + j)) - reached;
            if (matrix_.prices != nullptr && has_exit(matrix_, row)) {
                const Dual length = matrix_.prices[row] - offset;
                if (length < exit) exit = length, exit_row = row;
            }
            nearest = read_row(
                row, s_.core.v,
                [&](int32 first) {
                    Labels own;
                    load_own(s_.distance + first, own.distance);
                    load_own(s_.closed + first, own.closed);
                    return own;
                },
                [&](const Labels& own, int32 k, int32 col, Dual reduced) {
                    if (own.closed[k] == searches_) return infinity<Dual>();
                    const Dual through = reduced - offset;
                    if (!(through < own.distance[k])) return own.distance[k];
                    s_.distance[col] = through;
                    __stcg(before + col, row);
                    return through;
                });
        }
        each_own_col([&](int32 j) {
            if (s_.closed[j] != searches_) return;
            Dual fall = reached - s_.distance[j];
            if (fall < epsilon_) {
                fall_ += static_cast<double>(epsilon_ - fall);
                fall = epsilon_;
            }
            s_.core.v[j] -= fall;
        });
        if (end >= 0 && has(end)) s_.owned[end] = 1;
        if (leads()) flip(f, end, exit_row, before);
        return true;
    }
    // Whether column j is this thread's.
    __device__ static bool has(int32 j) { return static_cast<uint32>(j) / kPackCols % members() == member(); }

    // The path that ends at column `end`, or at the exit of `exit_row`. By one thread.
    __device__ void flip(int32 f, int32 end, int32 exit_row, const int32* before) const {
        int32 j = end;
        if (j < 0) {
            const int32 exit = matrix_.real_cols() + exit_row;
            j = __ldcg(s_.core.row_to_col + exit_row);
            __stcg(s_.core.row_to_col + exit_row, exit);
            __stcg(s_.core.col_to_row + exit, exit_row);
            if (exit_row == f) return;
        }
        int32 last = kNone;  // its cost is on its way
        Cost cost = {};
        for (;;) {
            const int32 i = __ldcg(before + j), next = __ldcg(s_.core.row_to_col + i);
            if (last >= 0) __stcg(s_.pair_cost + last, matrix_.minimised(cost));
            cost = matrix_.costs.row(i)[j];
            last = j;
            __stcg(s_.core.row_to_col + i, j);
            __stcg(s_.core.col_to_row + j, i);
            if (i == f) break;
            j = next;
        }
        __stcg(s_.pair_cost + last, matrix_.minimised(cost));
    }

    // Row f, and those of the columns that it reaches, have these columns alone (violator in core.cu).
    __device__ bool stuck(int32 f) {
        each_own_col([&](int32 j) { __stcg(s_.core.distance + j, s_.closed[j] == searches_ ? 0 : kFar); });
        if (leads()) {
            s_.core.free_rows[0] = f;
            s_.core.report->free_rows = 1;
        }
        return false;
    }

    // --- the answer

    __device__ void tell_news(uint32 matched) const {
        constexpr uint32 search = 2;  // of the stages of gpu/watch.py
        if (leads() && s_.lookout.wanted != s_.lookout.told)
            s_.lookout.tell(search, phases_, matched, static_cast<double>(bound_));
    }

    // u from the matching; or, where there is no end, the row minima under v = 0.
    __device__ void conclude(Status status) {
        barrier();
        const bool optimal = status == Status::optimal;
        if (status == Status::stopped) each_own_col([&](int32 j) { __stcg(s_.core.v + j, Dual(0)); });
        each(matrix_.rows, [&](uint32 row) {
            const int32 i = static_cast<int32>(row), j = __ldcg(s_.core.row_to_col + i);
            Dual u = __ldcg(s_.row_least + i);
            if (optimal) {
                const bool at_exit = j >= matrix_.real_cols();
                u = at_exit ? matrix_.prices[i] : __ldcg(s_.pair_cost + j) - __ldcg(s_.core.v + j);
                if (has_exit(matrix_, i) && matrix_.prices[i] < u) u = matrix_.prices[i];
            }
            __stcg(s_.core.u + i, u);
        });
        barrier();
        if (blockIdx.x != 0) return;
        const double sum =
            sum_in_block(matrix_.rows, [&](uint32 i) { return static_cast<double>(__ldcg(s_.core.u + i)); }) +
            sum_in_block(matrix_.real_cols(), [&](uint32 j) { return static_cast<double>(__ldcg(s_.core.v + j)); });
        if (threadIdx.x != 0) return;
        Report& report = *s_.core.report;
        report.status = static_cast<int64>(status);
        report.phases = phases_;
        report.searches = static_cast<int64>(searches_);
        report.scans = static_cast<int64>(scans_) + (pricing_ && is_square(matrix_) ? 3 : 1) * matrix_.rows;
        report.start_bound = -infinity<double>();
        report.bound = sum;
    }

    Ssp& s_;
    const Matrix& matrix_;
    const bool pricing_;  // whether phases with epsilon come first
    uint32 turn_ = 0, phases_ = 0;
    uint32 searches_ = 0;  // of all phases; the number of one
    uint64 scans_ = 0;     // rows read
    bool stopped_ = false;
    double bound_ = -infinity<double>();  // the best lower bound of the start
    Dual epsilon_ = 0, epsilon_least_ = 0;
    double fall_ = 0;  // what epsilon added to the fall of this thread's prices in a phase
};

}  // namespace ssp

// A cooperative launch of the whole grid.
extern "C" __global__ void __launch_bounds__(THREADS, 1) survey_ssp(LAPWING_SSP) {
    LAPWING_SET_SSP;
    ssp::survey(pricing != 0);
}
// One cluster of ssp::kBlocks; or, where there are none, a cooperative launch of which so many blocks stay.
extern "C" __global__ void __launch_bounds__(THREADS, 1) solve_ssp(LAPWING_SSP) {
    if (blockIdx.x >= ssp::blocks()) return;
    LAPWING_SET_SSP;
    ssp::Search(pricing != 0).solve();
}
