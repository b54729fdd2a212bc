#include "lapwing/team.hpp"

#include <new>
#include <system_error>
#include <utility>

#include "lapwing/numbers/float_environment.hpp"

namespace lapwing {
namespace {

// Some 50 us: a solve is rarely longer without a loop to share, but in its searches.
constexpr int kSpins = 1500;

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

void Team::share(Index count, Index piece, const std::function<void()>& look, const Work& work) {
    work_ = &work;
    count_ = count;
    piece_ = piece;
    next_.store(0, std::memory_order_relaxed);
    if (most_helpers_ < 1 || count <= piece) {
        for (Index begin = 0; begin < count; begin += piece) {
            work(begin, count - begin < piece ? count : begin + piece, 0);
            look();
        }
        return;
    }
    gather();
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
    over_ = true;
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    helpers_.clear();  // joins
    over_ = false;
}

void Team::gather() {
    const std::uint32_t now = round_.load(std::memory_order_relaxed);
    try {
        while (static_cast<int>(helpers_.size()) < most_helpers_) {
            const int member = static_cast<int>(helpers_.size()) + 1;
            helpers_.emplace_back([this, now, member] { help(now, member); });
        }
    } catch (const std::system_error&) {  // no more threads to be had: fewer do it too
    }
    entry_.fetch_or(kOpen, std::memory_order_release);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_one();
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

// Returns a round other than `seen`.
std::uint32_t Team::await_round(std::uint32_t seen) {
    for (int spins = 0; spins < kSpins; ++spins) {
        if (const std::uint32_t now = round_.load(std::memory_order_acquire); now != seen) return now;
        pause();
    }
    round_.wait(seen, std::memory_order_acquire);
    round_.notify_one();  // the next sleeper
    return round_.load(std::memory_order_acquire);
}

void Team::help(std::uint32_t seen, int member) {
    const DefaultFloatEnvironment arithmetic;
    prepare_exceptions();
    for (;;) {
        seen = await_round(seen);
        const bool is_open = (entry_.fetch_add(1, std::memory_order_acq_rel) & kOpen) != 0;
        const bool over = !is_open && over_;
        if (is_open) do_pieces(member, nullptr);
        if (entry_.fetch_sub(1, std::memory_order_release) == 1) entry_.notify_one();
        if (over) return;
    }
}

void Team::keep_failure() {
    next_.store(count_, std::memory_order_relaxed);  // the others stop, too
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
}

}  // namespace lapwing
