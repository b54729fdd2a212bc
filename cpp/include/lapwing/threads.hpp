// Work shared among threads, without any arithmetic: what the certificate, the range check and batches have in common.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "lapwing/control.hpp"
#include "lapwing/numbers/float_environment.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// Called on the calling thread, about every 50 ms, with the share of the work that is done, from 0 to 1, or NaN.
// Returns false, or throws, to stop. May be empty.
using KeepGoing = std::function<bool(double)>;

// Calls it when it is time.
class Watch {
  public:
    explicit Watch(const KeepGoing& keep_going) : keep_going_(keep_going) {
        if (keep_going) next_ = Clock::now() + kInterval;
    }
    void look(double done = std::numeric_limits<double>::quiet_NaN()) {
        if (!keep_going_ || Clock::now() < next_) return;
        next_ = Clock::now() + kInterval;
        if (!keep_going_(done)) throw Interrupted{};
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr auto kInterval = std::chrono::milliseconds(50);
    const KeepGoing& keep_going_;
    Clock::time_point next_;
};

// Runs work(is_caller) here and on up to threads - 1 helpers, and returns when all are done. Helpers throw nothing.
template <class Work>
void run_together(int threads, const Work& work) {
    std::vector<std::jthread> helpers;
    try {
        for (int t = 1; t < threads; ++t)
            helpers.emplace_back([&work] {
                const DefaultFloatEnvironment arithmetic;
                work(false);
            });
    } catch (const std::system_error&) {  // no more threads to be had: fewer do it too
    }
    work(true);
}

// The rows of a matrix, or its columns where those are contiguous and rows are not.
template <class T>
bool lies_by_columns(const MatrixView<T>& matrix) {
    return matrix.row_stride == 1 && matrix.col_stride != 1;
}

// Calls work(begin, end) for runs of `longest` rows, but for the last one, that make up `lines`, from up to `threads`
// threads. An exception of work is rethrown here once all threads are done.
template <class T, class Work>
void for_each_run(const MatrixView<T>& lines, int threads, const KeepGoing& keep_going, Index longest,
                  const Work& work) {
    constexpr double kPairsPerThread = 100'000;
    const double pairs = static_cast<double>(lines.rows) * static_cast<double>(lines.cols);
    const double useful = std::min(pairs / kPairsPerThread, static_cast<double>(threads));
    std::atomic<std::int64_t> next = 0;
    std::mutex mutex;
    std::exception_ptr failure;  // the first; guarded by mutex
    Watch watch(keep_going);
    run_together(static_cast<int>(useful), [&](bool is_caller) {
        try {
            for (std::int64_t begin; (begin = next.fetch_add(longest)) < lines.rows;) {
                work(static_cast<Index>(begin),
                     static_cast<Index>(std::min<std::int64_t>(begin + longest, lines.rows)));
                if (is_caller) watch.look(std::min(1.0, static_cast<double>(next) / lines.rows));
            }
        } catch (...) {
            next = lines.rows;  // the others stop, too
            const std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
        }
    });
    if (failure) std::rethrow_exception(failure);
}

template <class T, class Work>
void for_each_run(const MatrixView<T>& lines, int threads, const KeepGoing& keep_going, const Work& work) {
    constexpr Index kLongest = 16;
    for_each_run(lines, threads, keep_going, kLongest, work);
}

// The same with work(i), row by row.
template <class T, class Work>
void for_each_line(const MatrixView<T>& lines, int threads, const KeepGoing& keep_going, const Work& work) {
    for_each_run(lines, threads, keep_going, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) work(i);
    });
}

}  // namespace lapwing
