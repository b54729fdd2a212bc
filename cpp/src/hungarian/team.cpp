#include "lapwing/hungarian/team.hpp"

#include <new>
#include <system_error>
#include <utility>

#include "lapwing/numbers/float_environment.hpp"

namespace lapwing {

void Team::share(Index count, Index piece, const std::function<void()>& look,
                 const std::function<void(Index, Index)>& work) {
    const std::int64_t pieces = (std::int64_t{count} + piece - 1) / piece;
    const std::function<void(std::int64_t)> run = [&](std::int64_t k) {
        const std::int64_t end = (k + 1) * piece;
        work(static_cast<Index>(k * piece), end < count ? static_cast<Index>(end) : count);
    };
    if (most_helpers_ < 1 || pieces < 2) {
        for (std::int64_t k = 0; k < pieces; ++k) run(k), look();
        return;
    }
    run_ = &run;
    pieces_ = pieces;
    next_.store(0, std::memory_order_relaxed);
    gather();
    try {
        for (std::int64_t k; (k = next_.fetch_add(1, std::memory_order_relaxed)) < pieces;) run(k), look();
    } catch (...) {
        keep_failure();
    }
    for (int left; (left = busy_.load(std::memory_order_acquire)) != 0;) busy_.wait(left, std::memory_order_acquire);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Team::dismiss() {
    if (helpers_.empty()) return;
    over_ = true;
    announce();
    helpers_.clear();  // joins
    over_ = false;
}

void Team::announce() {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
}

void Team::gather() {
    const std::uint32_t now = round_.load(std::memory_order_relaxed);
    try {
        while (static_cast<int>(helpers_.size()) < most_helpers_) helpers_.emplace_back([this, now] { help(now); });
    } catch (const std::system_error&) {  // no more threads to be had: fewer do it too
    }
    busy_.store(static_cast<int>(helpers_.size()), std::memory_order_relaxed);
    announce();
}

namespace {

// A thread's memory for exceptions is allocated with its first one, and if there is none left then, the process ends:
// so that bad_alloc can be thrown later, one is thrown at once.
void prepare_exceptions() {
    try {
        throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
    }
}

}  // namespace

void Team::help(std::uint32_t seen) {
    const DefaultFloatEnvironment arithmetic;
    prepare_exceptions();
    for (;; ++seen) {
        round_.wait(seen, std::memory_order_acquire);
        if (over_) return;
        try {
            for (std::int64_t k; (k = next_.fetch_add(1, std::memory_order_relaxed)) < pieces_;) (*run_)(k);
        } catch (...) {
            keep_failure();
        }
        if (busy_.fetch_sub(1, std::memory_order_release) == 1) busy_.notify_one();
    }
}

void Team::keep_failure() {
    next_.store(pieces_, std::memory_order_relaxed);  // the others stop, too
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
}

}  // namespace lapwing
