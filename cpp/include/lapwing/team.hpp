// Threads that stay for a whole solve and share one loop at a time.
//
// A loop may take a few microseconds, and the next one may follow at once. So helpers spin for a while before they
// sleep, and the caller never waits for a helper that has not begun: a helper that is late finds the loop closed.
// Sleepers are woken one by another, which costs the caller one call.
//
// Synchronisation: the caller writes the task, opens `entry_` (release) and raises `round_`. A helper that sees the new
// round enters (acquire) and, if the loop is open, sees the task and everything that the caller did before; on leaving
// it lowers `entry_` (release). The caller closes the loop and goes on when nobody is inside (acquire), and sees
// everything that the helpers did. Between the two, pieces are handed out by `next_` (relaxed: a piece is nobody
// else's, whatever the order), and two pieces must not touch the same data. So the result of a loop is the same for any
// number of threads, if that of each piece is.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

class Team {
  public:
    explicit Team(int threads) : most_helpers_(threads - 1) {}
    ~Team() { dismiss(); }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int threads() const { return most_helpers_ + 1; }

    // Calls work(begin, end, member) for pieces that make up [0, count), begin being a multiple of `piece`; `member` is
    // 0 on the thread that called, which calls look() after each, and 1 to threads() - 1 on helpers. Their exceptions
    // are thrown here, once all are done.
    using Work = std::function<void(Index begin, Index end, int member)>;
    void share(Index count, Index piece, const std::function<void()>& look, const Work& work);

    // Sends the helpers away; the next loop starts new ones.
    void dismiss();

  private:
    int most_helpers_;
    std::vector<std::jthread> helpers_;
    const Work* work_ = nullptr;  // these three: written by the caller between loops
    Index count_ = 0, piece_ = 1;
    std::atomic<bool> over_ = false;
    static constexpr std::uint32_t kOpen = std::uint32_t{1} << 31;
    alignas(64) std::atomic<std::int64_t> next_ = 0;
    alignas(64) std::atomic<std::uint32_t> round_ = 0;
    alignas(64) std::atomic<std::uint32_t> entry_ = 0;  // kOpen, and how many helpers are inside
    std::mutex mutex_;
    std::exception_ptr failure_;  // the first; guarded by mutex_ while helpers are inside

    void gather();
    void await_helpers();
    std::uint32_t await_round(std::uint32_t seen);
    void help(std::uint32_t seen, int member);
    void do_pieces(int member, const std::function<void()>* look);
    void keep_failure();
};

}  // namespace lapwing
