#include "lapwing/team.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "lapwing/numbers/float_environment.hpp"

namespace lapwing {
namespace {

// Some 50 us: a solve is rarely longer without a loop to share, but in its searches.
constexpr int kSpins = 1500;

// A call: its number, and in the lowest bits how many helpers are called, or that all are to go.
constexpr std::uint32_t kHelperBits = 10, kLeave = (std::uint32_t{1} << kHelperBits) - 1;
constexpr std::uint32_t helpers_of(std::uint32_t call) { return call & kLeave; }

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

// A thread's memory for exceptions is allocated with its first one, and if there is none left then, the process ends:
// so that bad_alloc can be thrown later, one is thrown at once.
void prepare_exceptions() {
    try {
        throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
    }
}

}  // namespace

Team::Team(int threads)
    : most_helpers_(std::clamp(threads - 1, 0, static_cast<int>(kLeave) - 1)),
      seats_(std::make_unique<Seat[]>(static_cast<std::size_t>(most_helpers_))) {}

void Team::share(Index count, Index piece, const std::function<void()>& look, const Work& work) {
    work_ = &work;
    count_ = count;
    piece_ = piece;
    next_.store(0, std::memory_order_relaxed);
    const int helpers = hire((std::int64_t{count} + piece - 1) / piece - 1);
    if (helpers < 1) {
        for (Index begin = 0; begin < count; begin += piece) {
            work(begin, count - begin < piece ? count : begin + piece, 0);
            look();
        }
        return;
    }
    entry_.fetch_or(kOpen, std::memory_order_release);
    pass_on(0, next_call(static_cast<std::uint32_t>(helpers)));
    do_pieces(0, &look);
    await_helpers();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Team::do_pieces(int member, const std::function<void()>* look) {
    try {
        for (std::int64_t begin; (begin = next_.fetch_add(piece_, std::memory_order_relaxed)) < count_;) {
            const std::int64_t end = begin + piece_;
            (*work_)(static_cast<Index>(begin), end < count_ ? static_cast<Index>(end) : count_, member);
            if (look != nullptr) (*look)();
        }
    } catch (...) {
        keep_failure();
    }
}

void Team::dismiss() {
    if (helpers_.empty()) return;
    pass_on(0, next_call(kLeave));
    helpers_.clear();  // joins
}

// Returns how many helpers there are for a loop that has use for so many.
int Team::hire(std::int64_t wanted) {
    const int most = static_cast<int>(std::clamp<std::int64_t>(wanted, 0, most_helpers_));
    try {
        while (static_cast<int>(helpers_.size()) < most) {
            const int member = static_cast<int>(helpers_.size()) + 1;
            const std::uint32_t seen = seats_[member - 1].call.load();
            helpers_.emplace_back([this, member, seen] { help(member, seen); });
        }
    } catch (const std::system_error&) {  // no more threads to be had: fewer do it too
    }
    return std::min(most, static_cast<int>(helpers_.size()));
}

std::uint32_t Team::next_call(std::uint32_t helpers) { return ++calls_ << kHelperBits | helpers; }

// Calls the helpers that this member calls. Sequential consistency: either the helper sees the call before it sleeps,
// or this thread sees that it sleeps.
void Team::pass_on(int member, std::uint32_t call) {
    const int last = std::min(most_helpers_, static_cast<int>(helpers_of(call)));
    for (int called = 2 * member + 1; called <= std::min(last, 2 * member + 2); ++called) {
        Seat& seat = seats_[called - 1];
        seat.call.store(call);
        if (seat.sleeps.load()) seat.call.notify_one();
    }
}

// Closes the loop, and waits for those that are inside.
void Team::await_helpers() {
    std::uint32_t inside = entry_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    for (int spins = 0; inside != 0; inside = entry_.load(std::memory_order_acquire)) {
        if (++spins < kSpins)
            pause();
        else
            entry_.wait(inside, std::memory_order_acquire);
    }
}

// Returns a call other than `seen`.
std::uint32_t Team::await_call(Seat& seat, std::uint32_t seen) {
    for (int spins = 0; spins < kSpins; ++spins) {
        if (const std::uint32_t now = seat.call.load(std::memory_order_acquire); now != seen) return now;
        pause();
    }
    seat.sleeps.store(true);
    seat.call.wait(seen);
    seat.sleeps.store(false);
    return seat.call.load();
}

void Team::help(int member, std::uint32_t seen) {
    const DefaultFloatEnvironment arithmetic;
    prepare_exceptions();
    for (;;) {
        seen = await_call(seats_[member - 1], seen);
        pass_on(member, seen);
        if (helpers_of(seen) == kLeave) return;
        if (entry_.fetch_add(1, std::memory_order_acq_rel) & kOpen) do_pieces(member, nullptr);
        if (entry_.fetch_sub(1, std::memory_order_release) == 1) entry_.notify_one();
    }
}

void Team::keep_failure() {
    next_.store(count_, std::memory_order_relaxed);  // the others stop, too
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
}

}  // namespace lapwing
