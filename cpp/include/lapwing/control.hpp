// How the caller controls a running solve: time limit, interruption, progress.
//
// A method calls poll() about once in every 10 to 100 microseconds of work (a row scanned, a path found); poll() is an
// increment most of the time, looks at the clock every 64th call (every call, where rows may take long), and calls the
// hook at most every 50 ms.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include "lapwing/types.hpp"

namespace lapwing {

struct Progress {
    static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

    const char* stage = "";  // a short word: "list", "search", ...
    Index phase = 0;         // of the stage
    Index matched = 0;       // rows that have their column now
    // As minimised: a lower bound on the optimum, and the cost of the best complete assignment so far.
    double bound = -std::numeric_limits<double>::infinity();
    double objective = std::numeric_limits<double>::infinity();
    double done = kUnknown;  // of the stage, from 0 to 1
};

// Thrown by poll() when the hook asks to stop.
struct Interrupted {};

// Thrown when the time is up while costs that are expensive to compute are read row by row: the rows read are dropped.
struct TimeIsUp {};

// Thrown when a cost is NaN or -inf (as minimised). row and col are of the problem as given to the method.
struct InvalidCost {
    Index row;
    Index col;
};

// Thrown when a cost (col -1: an unmatched cost) is too large for sums of its kind (numbers/range.hpp).
struct CostTooLarge {
    Index row;
    Index col;
};

// Thrown with a message for the user, which says what is wrong with the costs and how to correct it.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Thrown when two reads of a cost disagree: the matrix is being modified. Costs may change at any time, so no loop and
// no index may rest on reading the same value twice.
struct CostsChanged : Refused {
    CostsChanged()
        : Refused(
              "the costs changed while they were being read: let nothing write to them during a solve, another thread "
              "or a "
              "progress callback, and solve again; if nothing does, this is a bug in Lapwing: please report it") {}
};
// Out of line, and so off the path of loops that count nanoseconds.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_changed_costs() { throw CostsChanged{}; }

// When a method may end early: never, when its searches prove hard, or already when a small sample tells that costs are
// structured, or structured in a way that suits it less (tied, far_apart), so that another method is tried first.
enum class GiveUp { never, if_hard, if_unsuited, if_structured };
// The structure on which a method has ended early: many tied pairs, prices of groups far apart, or another.
enum class Structure { none, general, tied, far_apart };

class Control {
  public:
    using Clock = std::chrono::steady_clock;
    // Returns false to stop the solve. Called from the thread that called the method, never from a worker.
    using Hook = std::function<bool(const Progress&)>;

    // `watched` is false if the hook ignores its argument.
    explicit Control(double time_limit_s = std::numeric_limits<double>::infinity(), Hook hook = {}, bool watched = true)
        : hook_(std::move(hook)), watched_(watched && hook_), start_(Clock::now()), next_hook_(start_ + kHookInterval),
          deadline_(time_limit_s < kForever ? start_ + std::chrono::duration_cast<Clock::duration>(
                                                           std::chrono::duration<double>(time_limit_s))
                                            : Clock::time_point::max()) {}

    // True when the time is up: wind down and return Status::time_limit. Throws Interrupted.
    bool poll(const Progress& progress) {
        ++calls_;
        return (calls_ & between_looks_) == 0 ? look(progress) : expired_;
    }

    void look_at_every_poll() { between_looks_ = 0; }

    // The same, looking at the clock now. A slow hook is called less often: it gets at most half of the time.
    bool look(const Progress& progress) {
        auto now = Clock::now();
        if (hook_ && now >= next_hook_) {
            const auto called = now;
            if (!hook_(progress)) throw Interrupted{};
            now = Clock::now();
            next_hook_ = now + std::max<Clock::duration>(kHookInterval, now - called);
        }
        expired_ = expired_ || now >= deadline_;
        keep_is_due_ = keep_is_due_ || now >= next_keep_;
        return expired_;
    }
    // Whether the time has been up for a tenth of a second, or of the time limit, so that what is under way is to be
    // dropped.
    bool is_late() const {
        constexpr auto kPatience = std::chrono::milliseconds(100);
        return expired_ && Clock::now() - deadline_ > std::max<Clock::duration>(kPatience, (deadline_ - start_) / 10);
    }
    // Whether a bound and an assignment are of use before the solve is done.
    bool wants_previews() const { return watched_ || keeps() || deadline_ < Clock::time_point::max(); }

    // Asks the method to keep what it has, so that another solve can go on from it, every so many seconds.
    void keep_every(double seconds) {
        keep_interval_ = std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(std::min(std::max(seconds, 0.0), kForever)));
        kept();
    }
    // Whether somebody looks at the progress.
    bool is_watched() const { return watched_; }
    double remaining_seconds() const {
        if (deadline_ == Clock::time_point::max()) return std::numeric_limits<double>::infinity();
        return std::max(0.0, std::chrono::duration<double>(deadline_ - Clock::now()).count());
    }
    bool keeps() const { return next_keep_ < Clock::time_point::max(); }
    bool keep_is_due() const { return keep_is_due_; }
    void kept() {
        keep_is_due_ = false;
        next_keep_ = Clock::now() + keep_interval_;
    }

    // Whether a method that another can take over from may end early, with Status::time_limit.
    void let_give_up(GiveUp when) {
        give_up_ = when;
        if (may_give_up()) gave_up_on_ = Structure::none;
    }
    bool may_give_up() const { return give_up_ != GiveUp::never; }
    // True if a method that finds this is to end. gave_up_on() tells why the last method that might end early did.
    bool give_up_on(Structure found) {
        const bool is_unsuited = give_up_ == GiveUp::if_unsuited && found != Structure::general;
        const bool gives_up = give_up_ == GiveUp::if_structured || is_unsuited;
        if (gives_up) gave_up_on_ = found;
        return gives_up;
    }
    Structure gave_up_on() const { return gave_up_on_; }
    // Another method, which a method that proves hard lets try before it goes on, once; it returns whether it has
    // solved the problem.
    void let_another_try(std::function<bool()> another) { another_ = std::move(another); }
    bool another_solves() {
        const auto another = std::exchange(another_, {});
        return another && another();
    }
    bool is_expired() const { return expired_; }

    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  private:
    static constexpr double kForever = 1e9;  // seconds
    static constexpr auto kHookInterval = std::chrono::milliseconds(50);
    Hook hook_;
    bool watched_;
    Clock::time_point start_, next_hook_, deadline_, next_keep_ = Clock::time_point::max();
    Clock::duration keep_interval_{};
    std::uint64_t calls_ = 0, between_looks_ = 63;
    GiveUp give_up_ = GiveUp::never;
    Structure gave_up_on_ = Structure::none;
    std::function<bool()> another_;
    bool expired_ = false, keep_is_due_ = false;
};

}  // namespace lapwing
