// The searches of "ssp", by the cluster of a GPU, and the answer. reference/ssp.cu explains the method.
#pragma once
#include "reference/invariants.cuh"
#include "reference/ssp_start.cuh"

namespace ssp {

class Search : Start {
  public:
    __device__ Search() : cols_(matrix_.real_cols()), has_sink_(Gpus::has_sink(matrix_)) {}

    __device__ void solve(Prices prices) {
        const Report& report = *s_.core.report;
        SolveStatus status = SolveStatus::stopped;
        if (__ldcg(&report.invalid_row) < matrix_.rows) {
            status = SolveStatus::invalid;
        } else if (__ldcg(&report.empty_row) < matrix_.rows) {
            status = SolveStatus::infeasible;
        } else if (start(prices)) {
            scans_of_start_ = scans_;
            status = run_phases();
        }
        conclude(status);
    }

  private:
    // --- phases

    __device__ SolveStatus run_phases() {
        for (;;) {
            ++phase_;
            begin_phase();
            for (int32 k = 0; k < matrix_.rows; ++k) {
                tell_news(k);
                const int32 next = k + 1 < matrix_.rows ? row(k + 1, phase_) : kNone;
                if (!search(row(k, phase_), next)) return stopped_ ? SolveStatus::stopped : SolveStatus::infeasible;
            }
            if (epsilon_ == Dual(0)) return SolveStatus::optimal;
            next_epsilon();
        }
    }

    // Begins with no assignment. The virtual rows have their columns, except in a first phase with epsilon.
    __device__ void begin_phase() {
        each_own_col(cols_, [&](int32, uint32 at) { own_.owner[at] = kUnowned; });
        path_fall_ = epsilon_fall_ = 0;
        vacancies_ = virtuals_ = 0;
        if (!has_sink_ || (epsilon_ > Dual(0) && phase_ == 1)) return;
        level_ = 0;
        uint32 below = 0;
        if (matrix_.prices == nullptr) below = find_level();
        vacancies_ = matrix_.rows - static_cast<int32>(below);
        virtuals_ = cols_ - static_cast<int32>(below);
        each_own_col(cols_, [&](int32, uint32 at) {
            if (own_.v[at] < level_) return;
            own_.v[at] = level_;
            own_.owner[at] = kVirtual;
        });
    }
    // Finds the level: the prices of cols - rows columns are at or above it. Returns the number of columns below.
    __device__ uint32 find_level() {
        each_own_col(cols_, [&](int32 j, uint32 at) { __stcg(s_.core.v + j, own_.v[at]); });
        barrier();
        for (int32 j = static_cast<int32>(member() / kWarp); j < cols_; j += static_cast<int32>(members() / kWarp)) {
            const Dual mine = __ldcg(s_.core.v + j);
            const auto count = [&](int32 ties_to) {
                return warp_count(cols_, [&](uint32 k) {
                    const Dual other = load_stable(s_.core.v + k);
                    return other < mine || (other == mine && static_cast<int32>(k) < ties_to);
                });
            };
            if (count(j) != static_cast<uint32>(matrix_.rows)) continue;
            const uint32 below = count(0);
            if (lane_index() != 0) continue;
            s_.board->level = mine;
            s_.board->below = below;
        }
        barrier();
        level_ = __ldcg(&s_.board->level);
        return __ldcg(&s_.board->below);
    }

    __device__ void next_epsilon() {
        const double mine = warp_reduce(path_fall_, [](double a, double b) { return a + b; });
        const double in_block =
            sum_in_block(blockDim.x / kWarp * kWarp, [&](uint32 k) { return k % kWarp == 0 ? mine : 0.0; });
        if (threadIdx.x == 0) __stcg(s_.core.partial + blockIdx.x, in_block);
        barrier();
        double by_paths = 0;
        for (uint32 b = 0; b < blocks(); ++b) by_paths += __ldcg(s_.core.partial + b);
        by_paths = sum_of_gpus(by_paths);
        const double part = static_cast<double>(epsilon_) / SspTuning::epsilon_divisor,
                     share = epsilon_fall_ / (SspTuning::path_share * Gpus::all_cols(matrix_.rows, cols_));
        const double next = part < share ? part : share;
        const bool ends = (phase_ > 1 && by_paths > epsilon_fall_) || next < epsilon_least_;
        epsilon_ = ends ? Dual(0) : in_units(next);
    }

    // --- one search: Dijkstra from row f, then the fall of prices, then the augmentation

    enum class Read { first, next, sink };

    // Returns false if there is no path, or the host requests a stop. `then`: the next row, or kNone.
    __device__ bool search(int32 f, int32 then) {
        ++searches_;
        steps_ = 0;
        sink_closed_ = false;
        sink_distance_ = infinity<Dual>();
        reached_ = -infinity<Dual>();
        uint32 closed = 0;
        relax_sink({kNone, f, 0}, Dual(0));
        Found nearest = read<Read::first>(f, Dual(0), [&] {
            if (then != kNone) prefetch_own(matrix_, then);
            return Message{};
        });
        bool by_sink = false;
        for (;;) {
            if (stopped_) return false;
            by_sink = !sink_closed_ && !is_far(sink_distance_) && !(nearest.distance < sink_distance_);
            const Dual distance = by_sink ? sink_distance_ : nearest.distance;
            if (!by_sink && nearest.col < 0) return stuck(f);
            reached_ = distance > reached_ ? distance : reached_;
            if (by_sink) {
                if (vacancies_ > 0) break;
                closed += virtuals_ - 1;  // the column that led there is closed
                nearest = close_sink();
                continue;
            }
            if (has(nearest.col)) own_.closed[place_of(nearest.col)] = searches_;
            ++closed;
            if (nearest.owner == kUnowned) break;
            const Step step = {nearest.col, nearest.owner, nearest.word};
            if (nearest.owner == kVirtual) {
                sink_distance_ = nearest.distance;
                sink_from_ = step;
                continue;
            }
            record(step);
            const Dual offset = nearest.number - reached_;
            relax_sink(step, offset);
            nearest = read<Read::next>(step.row, offset, [&] {
                const Message next = runner_up(nearest);
                if (next.key != kFar && next.owner >= 0) prefetch_own(matrix_, next.owner);
                return next;
            });
        }
        lower_prices(closed);
        if (by_sink)
            leave_by_sink(f);
        else
            augment(f, nearest.col, nearest.word);
        return true;
    }

    // Relaxes open columns by row i, at its costs - v - offset. Returns the nearest column, with its cost minus v, its
    // owner, and the step from which it was reached. meanwhile() is that of each_own_pack, and returns `next` for
    // least_of.
    template <Read kind, class Meanwhile>
    __device__ Found read(int32 i, Dual offset, Meanwhile meanwhile) {
        Message next = {};
        Best best;
        const auto relax = [&](int32 first, uint32 at, const Cost(&costs)[kPackCols]) {
            Dual v[kPackCols], distance[kPackCols];
            int32 owner[kPackCols];
            uint32 closed[kPackCols];
            load_own(own_.v + at, v);
            load_own(own_.distance + at, distance);
            load_own(own_.owner + at, owner);
            load_own(own_.closed + at, closed);
#pragma unroll
            for (int32 k = 0; k < kPackCols; ++k) {
                const Dual cost = kind == Read::sink ? Dual(0) : matrix_.minimised(costs[k]);
                const Dual through = (cost - v[k]) - offset;
                const bool open = (first + k < cols_) & (closed[k] != searches_);
                const bool nearer = open & (kind == Read::first || through < distance[k]);
                if (nearer) {
                    own_.distance[at + k] = through;
                    own_.by_cost[at + k] = costs[k];
                    own_.by_step[at + k] = steps_;
                }
                best.consider(nearer ? through : distance[k], Gpus::first() + first + k, at + k, owner[k] >= 0, open);
            }
        };
        if constexpr (kind == Read::sink) {
            const Cost none[kPackCols] = {};
            each_own_place(cols_, [&](int32 first, uint32 at) { relax(first, at, none); });
        } else {
            count_scan();
            each_own_pack(matrix_, i, relax, [&] { next = meanwhile(); });
        }
        const Dual owned = matrix_.minimised(own_.cost[best.at]) - own_.v[best.at];
        return least_of(best, own_.owner[best.at], owned, own_.by_step[best.at], next);
    }

    __device__ void record(Step step) {
        ++steps_;
        if (threadIdx.x != 0) return;
        if (steps_ < kNearSteps)
            near_->steps[steps_] = step;
        else if (blockIdx.x == 0)
            s_.far_steps[steps_ - kNearSteps] = step;
    }
    __device__ Step recorded(uint32 step) const {
        return step < kNearSteps ? near_->steps[step] : s_.far_steps[step - kNearSteps];
    }

    // Relaxes the unmatched column of a row; `at` is the column from which the search reached the row.
    __device__ void relax_sink(Step at, Dual offset) {
        if (sink_closed_ || !has_unmatched_column(matrix_, at.row)) return;
        const Dual distance = (matrix_.prices[at.row] - level_) - offset;
        if (!(distance < sink_distance_)) return;
        sink_distance_ = distance;
        sink_from_ = at;
    }
    // Closes the virtual rows: their columns are closed, all others reached. Not used with unmatched columns: see
    // vacancies_.
    __device__ Found close_sink() {
        sink_closed_ = true;
        sink_distance_ = reached_;
        record(sink_from_);
        each_own_col(cols_, [&](int32, uint32 at) {
            if (own_.owner[at] != kVirtual || own_.closed[at] == searches_) return;
            own_.distance[at] = reached_;
            own_.closed[at] = searches_;
        });
        return read<Read::sink>(kNone, -level_ - reached_, [] { return Message{}; });
    }

    // Lowers prices by the rest of the path's length, and by epsilon.
    __device__ void lower_prices(uint32 closed) {
        each_own_col(cols_, [&](int32, uint32 at) {
            if (own_.closed[at] != searches_) return;
            const Dual rest = reached_ - own_.distance[at];
            path_fall_ += static_cast<double>(rest);
            own_.v[at] -= rest + epsilon_;
        });
        epsilon_fall_ += static_cast<double>(epsilon_) * static_cast<double>(closed);
        if (sink_closed_) level_ -= (reached_ - sink_distance_) + epsilon_;
    }

    // Flips the path from a column back to row f; each thread flips its own part.
    __device__ void augment(int32 f, int32 col, uint32 by_step) const {
        for (;;) {
            const Step from = by_step == 0 ? Step{kNone, f, 0} : recorded(by_step);
            if (has(col)) {
                const uint32 at = place_of(col);
                own_.owner[at] = from.row;
                own_.cost[at] = own_.by_cost[at];
                if (from.row == kVirtual) own_.v[at] = level_;  // equal to it up to rounding and epsilon
            }
            if (by_step == 0) return;
            col = from.col;
            by_step = from.by_step;
        }
    }
    __device__ void leave_by_sink(int32 f) {
        --vacancies_;
        const int32 i = sink_from_.row;
        if (i == kVirtual) {
            --virtuals_;
        } else if (leads()) {
            __stcg(s_.core.row_to_col + i, cols_ + i);
            __stcg(s_.core.col_to_row + cols_ + i, i);
        }
        if (sink_from_.col >= 0) augment(f, sink_from_.col, sink_from_.by_step);
    }

    // Marks the violator: row f and the rows of the columns that it reaches have no other columns (violator in
    // core/core.cu).
    __device__ bool stuck(int32 f) {
        each_own_col(
            cols_, [&](int32 j, uint32 at) { __stcg(s_.core.distance + j, own_.closed[at] == searches_ ? 0 : kFar); });
        if (leads()) {
            s_.core.free_rows[0] = f;
            s_.core.report->free_rows = 1;
        }
        return false;
    }

    // --- the answer

    __device__ void tell_news(int32 matched) const {
        constexpr uint32 search = 2;  // of the stages of gpu/core/monitor.py
        if (leads() && Gpus::is_first() && s_.signals.requested != s_.signals.answered)
            s_.signals.publish(search, phase_, static_cast<uint32>(matched), bound_);
    }

    // Writes the matching and the duals: u from the matching or, if the solve did not finish, the row minima under v =
    // 0.
    __device__ void conclude(SolveStatus status) {
        barrier();
        const auto answer = Gpus::answer<Answer>(s_.core);
        const bool optimal = status == SolveStatus::optimal;
        each(matrix_.rows, [&](uint32 i) {
            if (!optimal || has_sink_)
                __stcg(answer.u + i, optimal && has_unmatched_column(matrix_, static_cast<int32>(i))
                                         ? matrix_.prices[i]
                                         : __ldcg(s_.row_least + i));
        });
        barrier();
        each_own_col(cols_, [&](int32 j, uint32 at) {
            const int32 i = phase_ > 0 ? own_.owner[at] : int32(kUnowned);
            Dual v = own_.v[at];
            if (has_sink_) v = v - level_ < Dual(0) ? v - level_ : Dual(0);
            __stcg(answer.v + j, optimal ? v : Dual(0));
            if (i < 0) return;
            __stcg(answer.row_to_col + i, j);
            __stcg(answer.col_to_row + j, i);
            if (!optimal) return;
            const Dual u = matrix_.minimised(own_.cost[at]) - v;
            __stcg(answer.u + i, has_unmatched_column(matrix_, i) && matrix_.prices[i] < u ? matrix_.prices[i] : u);
        });
        barrier_of_gpus();
        if (blockIdx.x != 0 || !Gpus::is_first()) return;
        const auto cols = static_cast<uint32>(Gpus::all_cols(matrix_.rows, cols_));
        const double sum =
            sum_in_block(matrix_.rows, [&](uint32 i) { return static_cast<double>(__ldcg(answer.u + i)); }) +
            sum_in_block(cols, [&](uint32 j) { return static_cast<double>(__ldcg(answer.v + j)); });
        if (threadIdx.x != 0) return;
        Report& report = *s_.core.report;
        report.status = static_cast<int64>(status);
        const int64 before = report.full_rows + matrix_.rows;  // rows read
        report.phases += phase_;
        report.searches = searches_;
        report.steps = static_cast<int64>(scans_of_start_) + before;
        report.scans = static_cast<int64>(scans_) + before;
        report.start_bound = -infinity<double>();
        report.bound = sum;
#ifdef LAPWING_CHECK_INVARIANTS
        if constexpr (Gpus::several) return;
        check_matching(s_.core);
        if (optimal) check_duals(s_.core);
#endif
    }

    const int32 cols_;
    const bool has_sink_;
    uint64 scans_of_start_ = 0;

    // State of the phase. With epsilon == 0: v <= level_, with equality if the owner is kVirtual; cost - v is a row's
    // minimum at its own column.
    uint32 phase_ = 0;
    Dual level_ = 0;
    int32 vacancies_ = 0;  // searches that may still end at the sink; with unmatched columns, all future searches
    int32 virtuals_ = 0;   // columns with this owner
    // falls of prices: this thread's by path lengths, and all threads' by epsilon
    double path_fall_ = 0, epsilon_fall_ = 0;

    // State of the search.
    uint32 searches_ = 0;  // number of searches so far, which identifies one
    uint32 steps_ = 0;     // recorded
    Dual sink_distance_ = 0;
    Step sink_from_ = {};  // by a column of the virtual rows, or by the unmatched column of a row
    bool sink_closed_ = false;
    Dual reached_ = 0;  // distance of the last column closed; never falls
};

}  // namespace ssp
