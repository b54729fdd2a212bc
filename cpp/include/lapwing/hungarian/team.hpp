// Threads that stay for a whole solve and share one loop at a time.
//
// Synchronisation: the caller writes the task, then raises `round_` (release); a helper that sees the new
// round (acquire) sees the task and everything that the caller did before. A helper that is through lowers `busy_`
// (release); the caller goes on when it reads 0 (acquire), and sees everything that the helpers did. Between the two,
// pieces are handed out by `next_` (relaxed: a piece is nobody else's, whatever the order), and two pieces must not
// touch the same data. So the result of a loop is the same for any number of threads, if that of each piece is.
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

    // Calls work(begin, end) for pieces that make up [0, count), begin being a multiple of `piece`; look() after each
    // on the thread that called. Their exceptions are thrown here, once all are done.
    void share(Index count, Index piece, const std::function<void()>& look,
               const std::function<void(Index, Index)>& work);

    // Sends the helpers away; the next loop starts new ones.
    void dismiss();

  private:
    int most_helpers_;
    std::vector<std::jthread> helpers_;
    const std::function<void(std::int64_t)>* run_ =
        nullptr;  // a piece; these three: written by the caller between rounds
    std::int64_t pieces_ = 0;
    bool over_ = false;
    std::atomic<std::int64_t> next_ = 0;
    std::atomic<std::uint32_t> round_ = 0;
    std::atomic<int> busy_ = 0;  // helpers that have not finished the round
    std::mutex mutex_;
    std::exception_ptr failure_;  // the first; guarded by mutex_ while helpers are busy

    void announce();
    void gather();
    void help(std::uint32_t seen);
    void keep_failure();
};

}  // namespace lapwing
