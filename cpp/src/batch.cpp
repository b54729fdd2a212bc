#include "lapwing/batch.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>

#include "lapwing/jv/jv.hpp"
#include "lapwing/matching/ties.hpp"
#include "lapwing/methods.hpp"
#include "lapwing/numbers/range.hpp"
#include "lapwing/numbers/total.hpp"
#include "lapwing/numbers/trust.hpp"
#include "lapwing/reductions/column_prices.hpp"

namespace lapwing {
namespace {

// One solved problem in its own orientation, from either path.
template <class D>
struct Solved {
    const Index* row_to_col;
    const D* u;
    const D* v;
};

template <class T>
class Batch {
  public:
    using D = Dual<T>;

    Batch(const Problems<T>& problems, const BatchOutput<D>& output, const KeepGoing& keep_going)
        : problems_(problems), output_(output), keep_going_(keep_going) {}

    std::vector<BatchFault> run(int threads) {
        const std::size_t useful = std::min(static_cast<std::size_t>(std::max(threads, 1)), problems_.size());
        turn_ = std::clamp<std::size_t>(problems_.size() / (useful * kTurnsPerThread), 1, kMostPerTurn);
        run_together(static_cast<int>(useful), [this](bool is_caller) { work(is_caller); });
        if (failure_) std::rethrow_exception(failure_);
        std::sort(faults_.begin(), faults_.end(),
                  [](const BatchFault& a, const BatchFault& b) { return a.problem < b.problem; });
        return std::move(faults_);
    }

  private:
    static constexpr std::size_t kTurnsPerThread = 16, kMostPerTurn = 64;

    void work(bool is_caller) {
        try {
            Workspace workspace;
            std::size_t bytes = 0;
            Watch watch(keep_going_);
            for (std::size_t start; !stop_ && (start = next_.fetch_add(turn_)) < problems_.size();) {
                for (std::size_t b = start; b < std::min(start + turn_, problems_.size()); ++b) {
                    try {
                        solve(b, workspace, bytes, is_caller);
                    } catch (const InvalidCost& at) {
                        report({b, BatchFault::invalid, at.row, at.col}, is_tall(b));
                    } catch (const CostTooLarge& at) {
                        report({b, BatchFault::range, at.row, at.col}, is_tall(b));
                    }
                }
                if (is_caller) watch.look();
            }
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failure_ || is_caller) failure_ = std::current_exception();
            stop_ = true;
        }
    }

    bool is_tall(std::size_t b) const {
        const Problem<T> problem = problems_[b];
        return problem.unmatched_cost == nullptr && problem.cost.rows > problem.cost.cols;
    }
    void report(BatchFault fault, bool tall) {
        if (tall && fault.kind != BatchFault::infeasible) std::swap(fault.row, fault.col);
        const std::lock_guard lock(mutex_);
        faults_.push_back(fault);
    }

    void solve(std::size_t b, Workspace& workspace, std::size_t& bytes, bool is_caller) {
        Problem<T> problem = problems_[b];
        if (is_tall(b)) problem.cost = problem.cost.transposed();
        if (problems_.unmatched_cols == nullptr)
            return solve_as(b, problem, workspace, bytes, is_caller, [&](const Solved<D>& solved, bool sure) {
                if (!sure) report({b, BatchFault::doubtful, -1, -1}, false);
                write(b, problem, solved);
            });
        const D* prices = problems_.unmatched_cols + problems_.col_start(b);
        if (const auto range = check_range(problem, 1, {}, prices); !range.fits)
            throw CostTooLarge{range.row, range.col};
        const Index rows = problem.cost.rows, cols = problem.cost.cols;
        const std::vector<D> matrix = LessColumnPrices<T>(problem, prices).written_out();
        const Problem<D> less{{matrix.data(), rows, cols, cols, 1}, problem.maximize, problem.unmatched_cost};
        solve_as(b, less, workspace, bytes, is_caller, [&](const Solved<D>& solved, bool) {
            std::vector<D> u(problem.unmatched_cost, problem.unmatched_cost + rows), v(solved.v, solved.v + cols);
            add_column_prices(problem, prices, solved.row_to_col, u.data(), v.data());
            if (!is_proven(problem, solved.row_to_col, v.data(), prices))
                report({b, BatchFault::doubtful, -1, -1}, false);
            write(b, problem, {solved.row_to_col, u.data(), v.data()});
        });
    }
    // Calls take(answer, whether it is sure to be optimal); or reports that there is none.
    template <class U, class Take>
    void solve_as(std::size_t b, const Problem<U>& problem, Workspace& workspace, std::size_t& bytes, bool is_caller,
                  const Take& take) {
        if (std::min(problem.cost.rows, problem.cost.cols) > kDirectMaxRows)
            return solve_large(b, problem, is_caller, take);
        const std::size_t needed = direct_workspace_bytes(problem);
        if (needed > bytes) {
            workspace = make_workspace(needed);
            bytes = needed;
        }
        DirectAnswer<D> answer;
        AnswerMemory<D> memory;
        const bool sure = solve_surely(problem, workspace.get(), output_.u != nullptr, memory, answer);
        if (answer.status == Status::infeasible)
            return report({b, BatchFault::infeasible, answer.hall_size + 1, answer.hall_size}, is_tall(b));
        take({answer.row_to_col, answer.u, answer.v}, sure);
    }
    template <class U, class Take>
    void solve_large(std::size_t b, const Problem<U>& problem, bool is_caller, const Take& take) {
        constexpr double kForever = std::numeric_limits<double>::infinity();
        Control control(kForever, [&](const Progress&) {
            return !stop_ && (!is_caller || !keep_going_ || keep_going_(Progress::kUnknown));
        });
        Solution<D> solution;
        const bool sure = solve_larger_surely(problem, control, solution);
        if (solution.status == Status::infeasible) {
            return report({b, BatchFault::infeasible, static_cast<Index>(solution.hall_rows.size()),
                           static_cast<Index>(solution.hall_cols.size())},
                          is_tall(b));
        }
        take({solution.row_to_col.data(), solution.u.data(), solution.v.data()}, sure);
    }

    void add_free_columns(std::size_t b, const Problem<T>& problem, const Index* row_to_col, Total<D>& total) const {
        const D* prices = problems_.unmatched_cols + problems_.col_start(b);
        std::vector<char> taken(static_cast<std::size_t>(problem.cost.cols), 0);
        for (Index i = 0; i < problem.cost.rows; ++i)
            if (row_to_col[i] >= 0) taken[static_cast<std::size_t>(row_to_col[i])] = 1;
        for (Index j = 0; j < problem.cost.cols; ++j)
            if (!taken[static_cast<std::size_t>(j)]) total.add(problem.maximize ? -prices[j] : prices[j]);
    }

    // `problem` is transposed if the given one is tall; the outputs are of the given one.
    void write(std::size_t b, const Problem<T>& problem, const Solved<D>& solved) {
        if (problem.unmatched_cost == nullptr) return copy_out(b, problem, solved);
        std::vector<Index> row_to_col(solved.row_to_col, solved.row_to_col + problem.cost.rows);
        const D* prices = problems_.unmatched_cols;
        match_ties(problem, row_to_col, solved.v, prices == nullptr ? nullptr : prices + problems_.col_start(b));
        copy_out(b, problem, {row_to_col.data(), solved.u, solved.v});
    }
    void copy_out(std::size_t b, const Problem<T>& problem, const Solved<D>& solved) {
        const Index rows = problem.cost.rows, cols = problem.cost.cols;
        const std::size_t first_row = problems_.row_start(b), first_col = problems_.col_start(b);
        std::int64_t* row_to_col = output_.row_to_col + first_row;
        const bool tall = is_tall(b);
        if (tall) std::fill_n(row_to_col, cols, std::int64_t{-1});
        Total<D> total;
        for (Index i = 0; i < rows; ++i) {
            const Index j = solved.row_to_col[i];
            (tall ? row_to_col[j] : row_to_col[i]) = tall ? i : j;
            total.add(j >= 0 ? static_cast<D>(problem.cost.at(i, j))
                             : (problem.maximize ? -problem.unmatched_cost[i] : problem.unmatched_cost[i]));
        }
        if (problems_.unmatched_cols != nullptr) add_free_columns(b, problem, solved.row_to_col, total);
        const D objective = total.value();
        if constexpr (std::is_floating_point_v<D>)
            if (!(std::fabs(objective) < kInfinity<D>)) report({b, BatchFault::range, -1, -1}, false);
        output_.objective[b] = objective;
        if (output_.u == nullptr) return;
        std::copy_n(tall ? solved.v : solved.u, tall ? cols : rows, output_.u + first_row);
        std::copy_n(tall ? solved.u : solved.v, tall ? rows : cols, output_.v + first_col);
    }

    const Problems<T>& problems_;
    const BatchOutput<D>& output_;
    const KeepGoing& keep_going_;
    std::size_t turn_ = 1;
    std::atomic<std::size_t> next_ = 0;
    std::atomic<bool> stop_ = false;
    std::mutex mutex_;  // guards the two below
    std::vector<BatchFault> faults_;
    std::exception_ptr failure_;
};

}  // namespace

template <class T>
std::vector<BatchFault> solve_batch(const Problems<T>& problems, const BatchOutput<Dual<T>>& output, int threads,
                                    const KeepGoing& keep_going) {
    return Batch<T>(problems, output, keep_going).run(threads);
}

#define LAPWING_BATCH(T)                                                                               \
    template std::vector<BatchFault> solve_batch(const Problems<T>&, const BatchOutput<Dual<T>>&, int, \
                                                 const KeepGoing&);
LAPWING_BATCH(float)
LAPWING_BATCH(double)
LAPWING_BATCH(std::int32_t)
LAPWING_BATCH(std::int64_t)
#undef LAPWING_BATCH

}  // namespace lapwing
