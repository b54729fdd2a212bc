// The state of the scheduler (cuda_emulation.cpp): the warps of a block, the block with its fibers, and the grid.
#pragma once

#include "cuda_emulation.hpp"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "block_stacks.hpp"
#include "stack_switch.hpp"

#if defined(LAPWING_EMULATION_TSAN)
extern "C" {
void AnnotateIgnoreReadsBegin(const char*, int);
void AnnotateIgnoreReadsEnd(const char*, int);
void AnnotateIgnoreWritesBegin(const char*, int);
void AnnotateIgnoreWritesEnd(const char*, int);
}
#endif

namespace lapwing::emulation {

using Clock = std::chrono::steady_clock;

constexpr unsigned kBarriers = 16;

inline unsigned volume(dim3 d) { return d.x * d.y * d.z; }

struct Warp {
    Fiber* lanes[32] = {};
    std::uint32_t alive = 0, waiting = 0;
};

// While one lives, ThreadSanitizer does not look: the combining functions are compiled with the kernels.
struct Unwatched {
#if defined(LAPWING_EMULATION_TSAN)
    Unwatched() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__), AnnotateIgnoreWritesBegin(__FILE__, __LINE__); }
    ~Unwatched() { AnnotateIgnoreWritesEnd(__FILE__, __LINE__), AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
#endif
};

// Shared by the blocks of one launch.
struct Grid {
    struct Cluster {
        std::atomic<unsigned> arrived = 0, generation = 0;
    };
    const Launch& how;
    const std::function<void()>& kernel;
    std::vector<unsigned> order;         // of blocks
    std::vector<unsigned char*> shared;  // dynamic shared memory: of each block if cooperative, else of each worker
    std::vector<Cluster> clusters;
    const int processor = sched_getcpu();
    std::atomic<std::size_t> next = 0;
    std::atomic<std::uint64_t> progress = 0;
    std::atomic<bool> failed = false;
    std::mutex mutex;
    std::exception_ptr failure;

    Grid(const Launch& launch, const std::function<void()>& body, std::size_t cluster_count)
        : how(launch), kernel(body), clusters(cluster_count) {}
    void work(unsigned worker, BlockStacks& stacks, bool all);
    void fail(std::exception_ptr why) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::move(why);
        failed = true;
    }
};

struct Block {
    struct Barrier {
        std::vector<Fiber*> waiting;
        int holds = 0;  // for so many the predicate holds
    };

    Grid& grid;
    BlockStacks& stacks;
    unsigned number = 0, shared_index = 0;
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    std::vector<Fiber*> ready;  // a ring; its size is a power of 2
    std::size_t first_ready = 0, ready_count = 0;
    unsigned alive = 0;
    Barrier barriers[kBarriers];
    Fiber outside = {};  // the thread's own stack
    const void* outside_bottom = nullptr;
    std::size_t outside_bytes = 0;
    std::uint64_t random = 1, progress_seen = 0;
    std::size_t spins = 0;
    Clock::time_point spinning_since = Clock::now();

    Block(Grid& the_grid, BlockStacks& the_stacks)
        : grid(the_grid), stacks(the_stacks), fibers(volume(the_grid.how.block)), warps((fibers.size() + 31) / 32),
          ready(std::bit_ceil(fibers.size())) {}
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    std::uint64_t& canary(const Fiber& fiber) { return *reinterpret_cast<std::uint64_t*>(stacks.stack(fiber.number)); }

    void run(unsigned which);
    void prepare(unsigned k);
    void make_ready(Fiber* fiber) {
        fiber->where = nullptr;
        ready[(first_ready + ready_count++) & (ready.size() - 1)] = fiber;
    }
    Fiber* pick() {
        if (grid.failed) return &outside;
        if (grid.how.seed != 0) {
            std::swap(ready[first_ready], ready[(first_ready + random_bits() % ready_count) & (ready.size() - 1)]);
        }
        Fiber* const next = ready[first_ready];
        first_ready = (first_ready + 1) & (ready.size() - 1);
        --ready_count;
        return next;
    }
    void wait(const char* where) {
        current->where = where;
        if (ready_count == 0) {
            current->where = nullptr;
            throw std::runtime_error("deadlock: thread " + std::to_string(current->number) + " comes to " + where +
                                     describe());
        }
        switch_to(pick(), false);
    }
    bool complete(Warp& warp, std::uint32_t mask);
    bool complete(Barrier& barrier, unsigned threads);
    void retire();
    void switch_to(Fiber* next, bool for_ever);
    std::string describe() const;
};

}  // namespace lapwing::emulation
