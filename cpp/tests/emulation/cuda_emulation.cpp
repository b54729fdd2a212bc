// The scheduler: one OS thread takes block after block; in a block, fibers hand over to each other directly. Blocks
// that may wait for each other have a thread each, all on one processor, which a spinning block gives to the others.
//
// A waiting fiber is in no queue; the fiber that ends its wait puts it into `ready`. So when a fiber must wait
// and nobody is ready, nobody ever will be: that is a deadlock. Compile this file without -fsanitize=thread (link with
// it): what the scheduler does is no access of the kernel's.
#include "cuda_emulation.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fibers.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace lapwing::emulation {

constinit LAPWING_EARLY_THREAD_LOCAL Fiber* current = nullptr;
constinit LAPWING_EARLY_THREAD_LOCAL const Launch* current_launch = nullptr;

namespace {

constexpr std::uint64_t kCanary = 0x5ca1ab1e0ddba115;
constexpr std::size_t kSharedAlignment = 128;

bool same_name(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }
// This OS thread runs on no other processor from now on.
void stay_on(int processor) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    CPU_SET(processor, &allowed);
    sched_setaffinity(0, sizeof allowed, &allowed);  // where it may not, it is only slower
}
dim3 place(unsigned k, dim3 size) { return {k % size.x, k / size.x % size.y, k / size.x / size.y}; }

// After a switch, on the new stack.
void arrive([[maybe_unused]] const void** bottom, [[maybe_unused]] std::size_t* bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(current->sanitizer_state, bottom, bytes);
#endif
}

[[noreturn]] void enter() {
    Block& block = *current->block;
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    arrive(&bottom, &bytes);
    if (block.outside_bottom == nullptr) {  // the first to enter comes from there
        block.outside_bottom = bottom;
        block.outside_bytes = bytes;
    }
    order_memory(&block.grid, false);
    order_memory(&current_launch, false);  // after what this OS thread did, and the block before it
    try {
        block.grid.kernel();
        if (block.canary(*current) != kCanary) throw std::runtime_error("a thread's stack has overflown");
        block.retire();
    } catch (...) {
        block.grid.fail(std::current_exception());
    }
    order_memory(&current_launch, true);
    order_memory(&block.grid.failure, true);
    block.switch_to(block.alive == 0 ? &block.outside : block.pick(), true);
    __builtin_unreachable();
}

}  // namespace

void Grid::work(unsigned worker, BlockStacks& stacks, bool all) try {
    if (all && order.size() > 1) stay_on(processor);
    current_launch = &how;
    Block block(*this, stacks);
    for (std::size_t k; (k = next++) < order.size() && !failed;) {
        block.shared_index = all ? order[k] : worker;
        block.run(order[k]);
    }
    order_memory(&current_launch, false);
} catch (...) {
    fail(std::current_exception());
}

void Block::switch_to(Fiber* next, [[maybe_unused]] bool for_ever) {
    Fiber* const me = current;
    if (next == me) return;
    current = next;
#if defined(__SANITIZE_ADDRESS__)
    const bool home = next == &outside;
    __sanitizer_start_switch_fiber(for_ever ? nullptr : &me->sanitizer_state,
                                   home ? outside_bottom : stacks.stack(next->number),
                                   home ? outside_bytes : kStackBytes);
#elif defined(LAPWING_EMULATION_TSAN)
    __tsan_switch_to_fiber(next->sanitizer_state, __tsan_switch_to_fiber_no_sync);
#endif
    lapwing_switch_stack(&me->stack_pointer, next->stack_pointer);
    const void* bottom;
    std::size_t bytes;
    arrive(&bottom, &bytes);
}

void Block::prepare(unsigned k) {
    Fiber& fiber = fibers[k];
    Warp& warp = warps[k / 32];
    fiber = {};
    fiber.thread = place(k, grid.how.block);
    fiber.block_index = place(number, grid.how.grid);
    fiber.number = k;
    fiber.lane = k % 32;
    fiber.block = this;
    fiber.warp = &warp;
    warp.lanes[fiber.lane] = &fiber;
    warp.alive |= 1u << fiber.lane;
    const auto top = reinterpret_cast<std::uintptr_t>(stacks.stack(k + 1)) / 16 * 16;
    auto* const frame = reinterpret_cast<void**>(top) - kFrameWords;
    std::fill_n(frame, kFrameWords, nullptr);
    frame[kReturnWord] = reinterpret_cast<void*>(&enter);
    fiber.stack_pointer = frame;
    canary(fiber) = kCanary;
    fiber.sanitizer_state = stacks.sanitizer_state(k);
    make_ready(&fiber);
}

void Block::run(unsigned which) {
    number = which;
    random = (grid.how.seed + number) * 0x9e3779b97f4a7c15 | 1;
    {
        [[maybe_unused]] const Unwatched unwatched;
        std::fill_n(grid.shared[shared_index], grid.how.shared_bytes, 0xa5);
    }
    stacks.unpoison();
#if defined(LAPWING_EMULATION_TSAN)
    outside.sanitizer_state = __tsan_get_current_fiber();
#endif
    alive = static_cast<unsigned>(fibers.size());
    for (unsigned k = 0; k < alive; ++k) prepare(k);
    outside.block = this;
    current = &outside;
    order_memory(&current_launch, true);
    switch_to(pick(), false);
}

// The current fiber has ended. Those that waited for it go on without it.
void Block::retire() {
    [[maybe_unused]] const Unwatched unwatched;
    Fiber& me = *current;
    Warp& warp = *me.warp;
    warp.alive &= ~(1u << me.lane);
    --alive;
    ++grid.progress;
    for (std::uint32_t rest = warp.waiting; rest != 0;) {
        const std::uint32_t mask = warp.lanes[std::countr_zero(rest)]->mask;
        complete(warp, mask);
        rest &= ~mask;
    }
    if (!barriers[0].waiting.empty()) complete(barriers[0], alive);
    if (alive > 0 && ready_count == 0) {
        throw std::runtime_error("deadlock: thread " + std::to_string(me.number) + " has returned" + describe());
    }
}

// Lets everybody in the mask go on, if they are all there.
bool Block::complete(Warp& warp, std::uint32_t mask) {
    const std::uint32_t members = mask & warp.alive;
    if (members == 0 || (warp.waiting & members) != members) return false;
    const Fiber& first = *warp.lanes[std::countr_zero(members)];
    bool all_here = true;
    for_each_member(members, [&](int l) { all_here = all_here && warp.lanes[l]->mask == mask; });
    if (!all_here) return false;
    for_each_member(members, [&](int l) {
        const Fiber& other = *warp.lanes[l];
        if (!same_name(other.where, first.where)) {
            throw std::runtime_error("lanes of one mask meet at different operations" + describe());
        }
    });
    first.combine(warp.lanes, members);
    warp.waiting &= ~members;
    for_each_member(members, [&](int l) {
        if (warp.lanes[l] != current) make_ready(warp.lanes[l]);
    });
    current->where = nullptr;
    ++grid.progress;
    spins = 0;
    return true;
}

bool Block::complete(Barrier& barrier, unsigned threads) {
    if (barrier.waiting.size() < threads) return false;
    for (Fiber* fiber : barrier.waiting) {
        if (!same_name(fiber->where, barrier.waiting[0]->where)) {
            throw std::runtime_error("threads of a block meet at different barriers" + describe());
        }
    }
    for (Fiber* fiber : barrier.waiting) {
        fiber->out = static_cast<std::uint64_t>(barrier.holds);
        if (fiber != current) make_ready(fiber);
    }
    current->where = nullptr;
    barrier.waiting.clear();
    barrier.holds = 0;
    ++grid.progress;
    spins = 0;
    return true;
}

std::string Block::describe() const {
    std::string text =
        "; in block " + std::to_string(number) + " " + std::to_string(fibers.size() - alive) + " threads have returned";
    const auto alike = [](const Fiber& a, const Fiber& b) {
        return b.where != nullptr && same_name(a.where, b.where) && a.combine == b.combine && a.mask == b.mask;
    };
    for (std::size_t k = 0, end; k < fibers.size() && text.size() < 1000; k = end) {
        const Fiber& first = fibers[k];
        end = k + 1;
        if (first.where == nullptr) continue;
        while (end < fibers.size() && alike(first, fibers[end])) ++end;
        char mask[32] = "";
        if (first.combine != nullptr) std::snprintf(mask, sizeof mask, " (mask %08x)", first.mask);
        text += "; " + std::to_string(k) + (end > k + 1 ? " to " + std::to_string(end - 1) + " wait" : " waits") +
                " at " + first.where + mask;
    }
    return text;
}

std::uint32_t random_bits() {
    std::uint64_t& x = current->block->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return static_cast<std::uint32_t>(x >> 24);
}

std::uint64_t collective(const char* name, std::uint32_t mask, std::uint64_t value, int argument, Combine combine) {
    [[maybe_unused]] const Unwatched unwatched;
    Fiber& me = *current;
    Warp& warp = *me.warp;
    if ((mask >> me.lane & 1) == 0) {
        throw std::runtime_error(std::string(name) + ": thread " + std::to_string(me.number) + " is not in its mask");
    }
    me.where = name;
    me.mask = mask;
    me.in = value;
    me.argument = argument;
    me.combine = combine;
    warp.waiting |= 1u << me.lane;
    if (!me.block->complete(warp, mask))
        me.block->wait(name);
    else if (current_launch->seed != 0)
        pause(false);
    return me.out;
}

int barrier(const char* name, int predicate, unsigned id, unsigned threads) {
    [[maybe_unused]] const Unwatched unwatched;
    Fiber& me = *current;
    Block::Barrier& barrier = me.block->barriers[id];
    order_memory(&barrier, true);
    me.where = name;
    me.combine = nullptr;
    barrier.waiting.push_back(&me);
    barrier.holds += predicate;
    if (!me.block->complete(barrier, threads != 0 ? threads : me.block->alive))
        me.block->wait(name);
    else if (current_launch->seed != 0)
        pause(false);
    order_memory(&barrier, false);
    return static_cast<int>(me.out);
}

void pause(bool spinning) {
    [[maybe_unused]] const Unwatched unwatched;
    Block& block = *current->block;
    if (spinning && block.spins++ > block.ready_count) {  // every fiber that can run has spun
        block.spins = 0;
        std::this_thread::yield();
        const std::uint64_t progress = block.grid.progress;
        const auto now = Clock::now();
        if (progress != block.progress_seen) {
            block.progress_seen = progress;
            block.spinning_since = now;
        } else if (std::chrono::duration<double>(now - block.spinning_since).count() > current_launch->patience) {
            throw std::runtime_error("deadlock: thread " + std::to_string(current->number) + " spins" +
                                     block.describe());
        }
    }
    if (!spinning && random_bits() % 64 == 0) std::this_thread::yield();  // to other blocks
    block.make_ready(current);
    block.switch_to(block.pick(), false);
}

void order_memory([[maybe_unused]] const void* what, [[maybe_unused]] bool release) {
#if defined(LAPWING_EMULATION_TSAN)
    if (release)
        __tsan_release(const_cast<void*>(what));
    else
        __tsan_acquire(const_cast<void*>(what));
#endif
}

unsigned char* dynamic_shared(unsigned rank) {
    const Block& block = *current->block;
    const unsigned size = current_launch->cluster_size;
    return block.grid.shared[block.shared_index / size * size + rank];
}

void cluster_barrier() {
    Block& block = *current->block;
    Grid::Cluster& cluster = block.grid.clusters[block.number / current_launch->cluster_size];
    order_memory(&cluster, true);
    const unsigned generation = cluster.generation;
    if (++cluster.arrived == current_launch->cluster_size * block.fibers.size()) {
        cluster.arrived = 0;
        ++cluster.generation;
    } else {
        while (cluster.generation == generation) pause(true);
    }
    order_memory(&cluster, false);
}

void launch(const Launch& how, const std::function<void()>& kernel) {
    if (how.cluster_size == 0 || how.grid.x % how.cluster_size != 0) {
        throw std::invalid_argument("grid.x must be a multiple of cluster_size");
    }
    const unsigned blocks = volume(how.grid);
    const bool all = how.cooperative || how.cluster_size > 1;
    const unsigned workers = all ? blocks : std::min(blocks, std::max(2u, std::thread::hardware_concurrency()));
    using Shared = std::unique_ptr<void, decltype(&std::free)>;
    std::vector<Shared> owned;
    Grid grid(how, kernel, blocks / how.cluster_size);
    grid.order.resize(blocks);
    std::iota(grid.order.begin(), grid.order.end(), 0u);
    if (how.seed != 0) std::shuffle(grid.order.begin(), grid.order.end(), std::mt19937_64(how.seed));
    for (unsigned k = 0; k < workers; ++k) {  // no byte more than asked for: AddressSanitizer sees what is beyond
        void* memory = nullptr;
        if (posix_memalign(&memory, kSharedAlignment, how.shared_bytes) != 0) throw std::bad_alloc();
        owned.emplace_back(memory, &std::free);
        grid.shared.push_back(static_cast<unsigned char*>(memory));
    }
    StackPool pool(workers, volume(how.block));
    order_memory(&grid, true);
    {
        std::vector<std::jthread> threads;
        for (unsigned k = 0; k < workers; ++k)
            threads.emplace_back([&grid, &stacks = pool[k], k, all] { grid.work(k, stacks, all); });
    }
    order_memory(&grid.failure, false);
    if (grid.failure) std::rethrow_exception(grid.failure);
    pool.give_back();
}

}  // namespace lapwing::emulation
