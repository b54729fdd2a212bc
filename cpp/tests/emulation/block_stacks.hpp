// The stacks of the threads of a block, and the state that ThreadSanitizer keeps of each thread.
//
// They are kept from launch to launch, since they take longer to make than most blocks take to run. Launches follow
// each other, and so do the blocks of one worker: all that ThreadSanitizer knows of the last threads on some stacks
// happened before all that the next threads on them do, so no race is missed.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif
#if defined(LAPWING_EMULATION_TSAN)  // since the including file is not compiled with it
#include <sanitizer/tsan_interface.h>
#endif

namespace lapwing::emulation {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t kStackBytes = 256 * 1024 + 192;
#else
inline constexpr std::size_t kStackBytes =
    64 * 1024 + 192;  // no power of two: all stack tops would share few cache sets
#endif

class BlockStacks {
  public:
    explicit BlockStacks(std::size_t threads) : sanitizer_states_(threads) {
        void* memory =
            mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        stacks_ = static_cast<unsigned char*>(memory);
#if defined(LAPWING_EMULATION_TSAN)  // never destroyed: it would complain of one that was left behind
        for (void*& state : sanitizer_states_) state = __tsan_create_fiber(0);
#endif
    }
    BlockStacks(const BlockStacks&) = delete;
    BlockStacks& operator=(const BlockStacks&) = delete;
    ~BlockStacks() {
        unpoison();  // the next mapping here is none of ours
        munmap(stacks_, bytes());
    }
    void unpoison() {
#if defined(__SANITIZE_ADDRESS__)
        __asan_unpoison_memory_region(stacks_, bytes());
#endif
    }
    std::size_t threads() const { return sanitizer_states_.size(); }
    unsigned char* stack(std::size_t thread) const { return stacks_ + thread * kStackBytes; }
    void* sanitizer_state(std::size_t thread) const { return sanitizer_states_[thread]; }

  private:
    std::size_t bytes() const { return threads() * kStackBytes; }

    std::vector<void*> sanitizer_states_;
    unsigned char* stacks_;
};

// Stacks for each worker of a launch.
class StackPool {
  public:
    StackPool(std::size_t workers, std::size_t threads) {
        const std::lock_guard lock(mutex);
        while (taken_.size() < workers) {
            const auto found = std::find_if(free.begin(), free.end(), [&](auto& r) { return r->threads() >= threads; });
            if (found == free.end()) {
                taken_.push_back(std::make_unique<BlockStacks>(threads));
            } else {
                taken_.push_back(std::move(*found));
                free.erase(found);
            }
        }
    }
    BlockStacks& operator[](std::size_t worker) { return *taken_[worker]; }
    void give_back() {  // after a launch in which every thread came to its end
        const std::lock_guard lock(mutex);
        std::move(taken_.begin(), taken_.end(), std::back_inserter(free));
        taken_.clear();
    }

  private:
    static inline std::mutex mutex;
    static inline std::vector<std::unique_ptr<BlockStacks>> free;
    std::vector<std::unique_ptr<BlockStacks>> taken_;
};

}  // namespace lapwing::emulation
