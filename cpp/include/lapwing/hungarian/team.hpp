// Threads that stay for a whole solve and share one loop at a time.
//
// Who synchronises with whom: the caller writes the task, then raises `round_` (release); a helper that sees the new round
// (acquire) sees the task and everything that the caller did before. A helper that is through lowers `busy_` (release); the
// caller goes on when it reads 0 (acquire), and sees everything that the helpers did. Between the two, pieces are handed
// out by `next_` (relaxed: a piece is nobody else's, whatever the order), and two pieces must not touch the same data.
// So whatever a loop computes is the same for any number of threads, if each piece is.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

class Team {
  public:
    explicit Team(int threads) : most_helpers_(threads - 1) {}
    ~Team() { dismiss(); }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // Calls work(begin, end) for pieces that make up [0, count), begin being a multiple of `piece`; look() after each on the
    // thread that called. What they throw is thrown here, once all are done.
    template <class Look, class Work>
    void share(Index count, Index piece, const Look& look, const Work& work) {
        const std::int64_t pieces = (std::int64_t{count} + piece - 1) / piece;
        const auto run = [&](std::int64_t k) {
            const std::int64_t end = (k + 1) * piece;
            work(static_cast<Index>(k * piece), end < count ? static_cast<Index>(end) : count);
        };
        if (most_helpers_ < 1 || pieces < 2) {
            for (std::int64_t k = 0; k < pieces; ++k) run(k), look();
            return;
        }
        call_ = [](const void* closure, std::int64_t k) { (*static_cast<const decltype(run)*>(closure))(k); };
        closure_ = &run;
        pieces_ = pieces;
        next_.store(0, std::memory_order_relaxed);
        gather();
        try {
            for (std::int64_t k; (k = next_.fetch_add(1, std::memory_order_relaxed)) < pieces;) run(k), look();
        } catch (...) {
            keep_failure();
        }
        for (int left; (left = busy_.load(std::memory_order_acquire)) != 0;)
            busy_.wait(left, std::memory_order_acquire);
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

    // Sends the helpers away; the next loop starts new ones.
    void dismiss() {
        if (helpers_.empty()) return;
        over_ = true;
        announce();
        helpers_.clear();  // joins
        over_ = false;
    }

  private:
    int most_helpers_;
    std::vector<std::jthread> helpers_;
    void (*call_)(const void*, std::int64_t) = nullptr;  // these four: written by the caller between rounds
    const void* closure_ = nullptr;
    std::int64_t pieces_ = 0;
    bool over_ = false;
    std::atomic<std::int64_t> next_ = 0;
    std::atomic<std::uint32_t> round_ = 0;
    std::atomic<int> busy_ = 0;  // helpers that have not finished the round
    std::mutex mutex_;
    std::exception_ptr failure_;  // the first; guarded by mutex_ while helpers are busy

    void announce() {
        round_.fetch_add(1, std::memory_order_release);
        round_.notify_all();
    }

    void gather() {
        const std::uint32_t now = round_.load(std::memory_order_relaxed);
        try {
            while (static_cast<int>(helpers_.size()) < most_helpers_) helpers_.emplace_back([this, now] { help(now); });
        } catch (const std::system_error&) {  // no more threads to be had: fewer do it too
        }
        busy_.store(static_cast<int>(helpers_.size()), std::memory_order_relaxed);
        announce();
    }

    void help(std::uint32_t seen) {
        for (;;) {
            round_.wait(seen, std::memory_order_acquire);
            ++seen;
            if (over_) return;
            try {
                for (std::int64_t k; (k = next_.fetch_add(1, std::memory_order_relaxed)) < pieces_;)
                    call_(closure_, k);
            } catch (...) {
                keep_failure();
            }
            if (busy_.fetch_sub(1, std::memory_order_release) == 1) busy_.notify_one();
        }
    }

    void keep_failure() {
        next_.store(pieces_, std::memory_order_relaxed);  // the others stop, too
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
    }
};

}  // namespace lapwing
