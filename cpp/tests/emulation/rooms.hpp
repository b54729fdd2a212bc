// Rooms: what the threads of a block run on, their stacks and what ThreadSanitizer keeps of each.
//
// They are kept from launch to launch, since they take longer to make than most blocks take to run. Launches follow each other,
// and so do the blocks of one worker; so whatever ThreadSanitizer still knows of a room's last threads has happened before all
// that its next ones do, and no race is missed.
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
#if defined(LAPWING_EMULATION_TSAN)  // since who includes this is not compiled with it
#include <sanitizer/tsan_interface.h>
#endif

namespace lapwing::emulation {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t kStackBytes = 256 * 1024 + 192;
#else
inline constexpr std::size_t kStackBytes =
    64 * 1024 + 192;  // no power of two: all stack tops would share few cache sets
#endif

class Room {
  public:
    explicit Room(std::size_t threads) : sanitizer_states_(threads) {
        void* memory =
            mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        stacks_ = static_cast<unsigned char*>(memory);
#if defined(LAPWING_EMULATION_TSAN)  // never destroyed: it would complain of one that was left behind
        for (void*& state : sanitizer_states_) state = __tsan_create_fiber(0);
#endif
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() {
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

// A room for each worker of a launch.
class Rooms {
  public:
    Rooms(std::size_t workers, std::size_t threads) {
        const std::lock_guard lock(mutex);
        while (taken_.size() < workers) {
            const auto room = std::find_if(free.begin(), free.end(), [&](auto& r) { return r->threads() >= threads; });
            if (room == free.end()) {
                taken_.push_back(std::make_unique<Room>(threads));
            } else {
                taken_.push_back(std::move(*room));
                free.erase(room);
            }
        }
    }
    Room& operator[](std::size_t worker) { return *taken_[worker]; }
    void give_back() {  // after a launch in which every thread came to its end
        const std::lock_guard lock(mutex);
        std::move(taken_.begin(), taken_.end(), std::back_inserter(free));
        taken_.clear();
    }

  private:
    static inline std::mutex mutex;
    static inline std::vector<std::unique_ptr<Room>> free;
    std::vector<std::unique_ptr<Room>> taken_;
};

}  // namespace lapwing::emulation
