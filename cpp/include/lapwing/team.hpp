// Threads that stay for a whole solve and share one loop at a time.
//
// A loop may take a few microseconds, and the next one may follow at once. So helpers spin for a while before they
// sleep, and the caller never waits for a helper that has not begun: a helper that is late finds the loop closed. A
// loop of few pieces calls as few helpers, always the same ones, and leaves the others asleep. The caller calls helpers
// 1 and 2, and helper k calls 2k + 1 and 2k + 2, each at a seat of its own.
//
// Synchronisation: the caller writes the task, opens `entry_` (release) and calls. A helper that is called enters
// (acquire) and, if the loop is open, sees the task and everything that the caller did before; on leaving it lowers
// `entry_` (release). The caller closes the loop and goes on when nobody is inside (acquire), and sees everything that
// the helpers did. Between the two, pieces are handed out by `next_` (relaxed: a piece is nobody else's, whatever the
// order), and two pieces must not touch the same data. So the result of a loop is the same for any number of threads,
// if that of each piece is.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "lapwing/types.hpp"

namespace lapwing {

class Team {
  public:
    explicit Team(int threads);
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
    // Where a helper is called. Only the one who calls it writes `call`, so that no call is missed: the last one least.
    struct alignas(64) Seat {
        std::atomic<std::uint32_t> call = 0;
        std::atomic<bool> sleeps = false;
    };

    int most_helpers_;
    std::unique_ptr<Seat[]> seats_;  // [most_helpers_]: of members 1 and on
    std::vector<std::jthread> helpers_;
    std::uint32_t calls_ = 0;
    const Work* work_ = nullptr;  // these three: written by the caller between loops
    Index count_ = 0, piece_ = 1;
    static constexpr std::uint32_t kOpen = std::uint32_t{1} << 31;
    alignas(64) std::atomic<std::int64_t> next_ = 0;
    alignas(64) std::atomic<std::uint32_t> entry_ = 0;  // kOpen, and how many helpers are inside
    std::mutex mutex_;
    std::exception_ptr failure_;  // the first; guarded by mutex_ while helpers are inside

    int hire(std::int64_t wanted);
    std::uint32_t next_call(std::uint32_t helpers);
    void pass_on(int member, std::uint32_t call);
    void await_helpers();
    static std::uint32_t await_call(Seat& seat, std::uint32_t seen);
    void help(int member, std::uint32_t seen);
    void do_pieces(int member, const std::function<void()>* look);
    void keep_failure();
};

}  // namespace lapwing
