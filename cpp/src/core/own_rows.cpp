#include "lapwing/core/own_rows.hpp"

#include <memory>
#include <mutex>

#include "lapwing/core/lists.hpp"

namespace lapwing {
namespace {

// Workspaces that threads take and return.
template <class T>
class Scratches {
  public:
    explicit Scratches(const Problem<T>& problem) : problem_(problem) {}
    std::unique_ptr<ListScratch<T>> take() {
        {
            const std::lock_guard lock(mutex_);
            if (!free_.empty()) {
                auto scratch = std::move(free_.back());
                free_.pop_back();
                return scratch;
            }
        }
        return std::make_unique<ListScratch<T>>(problem_);
    }
    void give_back(std::unique_ptr<ListScratch<T>> scratch) {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(scratch));
    }

  private:
    const Problem<T>& problem_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<ListScratch<T>>> free_;  // guarded by mutex_
};

}  // namespace

template <class T>
ListedRows<T> list_own_rows(const Problem<T>& own, PlaceOfRows place, std::span<const Index> rows,
                            std::span<const Dual<T>> limits, const Dual<T>* v, int threads,
                            const KeepGoing& keep_going) {
    CandidateLists<T> lists(own.cost, own.maximize, own.source != nullptr ? own.source->boxes() : nullptr);
    lists.be_part_of(place.rows_of_problem, place.first);
    Scratches<T> scratches(own);
    {
        auto scratch = scratches.take();
        lists.take_prices(v, *scratch);
        scratches.give_back(std::move(scratch));
    }
    const auto count = static_cast<Index>(rows.size());
    for_each_run(MatrixView<T>{nullptr, count, own.cost.cols}, threads, keep_going, [&](Index begin, Index end) {
        auto scratch = scratches.take();
        scratch->forget();
        if (rows[end - 1] - rows[begin] == end - 1 - begin) scratch->reader.expect(rows[begin], rows[end - 1] + 1);
        for (Index k = begin; k < end; ++k) {
            if (limits.empty())
                lists.list(rows[k], v, *scratch);
            else
                lists.relist(rows[k], v, limits[k], *scratch);
        }
        scratches.give_back(std::move(scratch));
    });
    ListedRows<T> listed;
    for (const Index i : rows) {
        const auto cols = lists.cols(i);
        listed.counts.push_back(static_cast<Index>(cols.size()));
        listed.cols.insert(listed.cols.end(), cols.begin(), cols.end());
        for (std::size_t place = 0; place < cols.size(); ++place)
            listed.costs.push_back(lists.cost(i, static_cast<std::ptrdiff_t>(place)));
        listed.tau.push_back(lists.tau(i));
    }
    return listed;
}

template <class T>
void lower_own_columns(const Problem<T>& own, std::span<const Index> rows, const Dual<T>* u, Dual<T>* v,
                       const KeepGoing& keep_going) {
    const CoreKernels<T> kernels = core_kernels<T>(own.maximize);
    RowReader<T> reader(own.cost, own.source);
    Watch watch(keep_going);
    for (std::size_t k = 0; k < rows.size(); ++k) {
        if (u[k] < kInfinity<Dual<T>>) kernels.lower_columns(reader.row(rows[k]), own.cost.cols, u[k], v);
        watch.look();
    }
}

#define LAPWING_INSTANTIATE(T)                                                                             \
    template ListedRows<T> list_own_rows(const Problem<T>&, PlaceOfRows, std::span<const Index>,           \
                                         std::span<const Dual<T>>, const Dual<T>*, int, const KeepGoing&); \
    template void lower_own_columns(const Problem<T>&, std::span<const Index>, const Dual<T>*, Dual<T>*,   \
                                    const KeepGoing&);
LAPWING_INSTANTIATE(float)
LAPWING_INSTANTIATE(double)
LAPWING_INSTANTIATE(std::int32_t)
LAPWING_INSTANTIATE(std::int64_t)
#undef LAPWING_INSTANTIATE

}  // namespace lapwing
