// Costs that a function supplies, a block of rows at a time, behind a cache of rows.
//
// Rows that are read one after the other are asked for together; a row that is read alone, for a refresh, is asked for
// alone. The function is called by one thread at a time: the thread that reads a row that is not cached.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <pthread.h>
#endif

#include "lapwing/costs/row_cache.hpp"
#include "lapwing/costs/source.hpp"
#include "lapwing/huge_pages.hpp"

namespace lapwing {

// Memory for numbered slots of equal size, allocated by the slab when a slot of it is first used. Slabs ask for large
// pages, where the system has them: the first use of a slot then takes a tenth of the time.
template <class T>
class Slots {
  public:
    Slots(Index count, Index length)
        : length_(static_cast<std::size_t>(length)), per_slab_(std::max<std::size_t>(kSlab / (sizeof(T) * length_), 1)),
          slabs_((static_cast<std::size_t>(count) + per_slab_ - 1) / per_slab_) {
        per_slab_ = std::min<std::size_t>(per_slab_, count);
    }
    T* operator[](Index slot) {
        auto& slab = slabs_[slot / per_slab_];
        if (!slab) slab = allocate(sizeof(T) * length_ * per_slab_);
        return slab.get() + slot % per_slab_ * length_;
    }

  private:
    static constexpr std::size_t kSlab = 2 * kHugePage;
    struct Free {
        void operator()(T* memory) const { std::free(memory); }
    };
    using Slab = std::unique_ptr<T[], Free>;

    static Slab allocate(std::size_t bytes) {
#ifdef MADV_HUGEPAGE
        const std::size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
        void* memory = bytes < kHugePage ? std::malloc(bytes) : std::aligned_alloc(kHugePage, whole);
        if (memory != nullptr && bytes >= kHugePage) ask_for_huge_pages(memory, whole);
#else
        void* memory = std::malloc(bytes);
#endif
        if (memory == nullptr) throw std::bad_alloc();
        return Slab(static_cast<T*>(memory));
    }

    std::size_t length_, per_slab_;
    std::vector<Slab> slabs_;
};

// How many forks lie between the process that first asked and this one. A lock that was held at a fork stays
// locked in the child, where no thread can release it.
inline int forks() {
#if defined(_WIN32)
    return 0;
#else
    static std::atomic<int> count = 0;
    [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, [] { ++count; });
    return count;
#endif
}

struct RowCounters {
    std::int64_t hits = 0, misses = 0;  // rows read that were held, and that were not
    std::int64_t requests = 0;          // calls of the function
    double request_seconds = 0;
};

template <class T>
class RowsSource final : public CostSource<T> {
  public:
    // Writes rows begin .. end - 1 to rows[0], rows[1], ..., each [cols]. Its exceptions reach the reader.
    using Supply = std::function<void(Index begin, Index end, T* const* rows)>;
    // The costs of pairs (rows[k], cols[k]), where that is cheaper than their rows; may be empty.
    using Pairs = std::function<void(std::span<const Index> rows, std::span<const Index> cols, T* out)>;
    // Called about every 50 ms while another thread's request is waited for; may throw.
    using Waiting = std::function<void()>;

    RowsSource(Index rows, Index cols, std::size_t cache_bytes, Supply supply, Waiting waiting = {}, Pairs pairs = {})
        : cols_(cols), at_once_(block_rows(cols)), cache_(rows, slots(rows, cols, cache_bytes)),
          memory_(slots(rows, cols, cache_bytes), cols), supply_(std::move(supply)), waiting_(std::move(waiting)),
          pairs_(std::move(pairs)) {}

    void read(Index i, Index first, Index count, T* out) const override {
        const Turn turn(*this);
        if (!cache_.holds(i)) request(i, i + 1);
        counters_.hits += first == 0 && !cache_.is_fresh(i);  // a row counts once, however many pieces it is read in
        std::memcpy(out, memory_[cache_.find(i)] + first, sizeof(T) * static_cast<std::size_t>(count));
    }
    void read_pairs(std::span<const Index> rows, std::span<const Index> cols, T* out) const override {
        if (!pairs_) return CostSource<T>::read_pairs(rows, cols, out);
        const Turn turn(*this);
        pairs_(rows, cols, out);
    }
    Index rows_at_once() const override { return at_once_; }
    void fetch(Index begin, Index end) const override {
        const Turn turn(*this);
        for (Index from = begin; from < end; ++from) {
            Index to = from;
            while (to < std::min(end, from + at_once_) && !cache_.holds(to)) ++to;
            if (to == from) continue;
            request(from, to);
            from = to - 1;
        }
    }
    RowCounters counters() const {
        const Turn turn(*this);
        return counters_;
    }

    // Rows asked for together: a megabyte of them, 64 at most.
    static Index block_rows(Index cols) {
        constexpr std::size_t kBytes = 1 << 20, kMost = 64;
        return static_cast<Index>(std::clamp<std::size_t>(kBytes / (sizeof(T) * cols), 1, kMost));
    }
    // As many as the bytes hold; at least a few blocks, so that what is asked for is still there when it is read.
    static Index slots(Index rows, Index cols, std::size_t bytes) {
        constexpr Index kBlocks = 8;
        const std::size_t fit = std::max<std::size_t>(bytes / (sizeof(T) * cols), kBlocks * block_rows(cols));
        return static_cast<Index>(std::min<std::size_t>(fit, rows));
    }

  private:
    // Exclusive use of the source. A function that reads the costs that it supplies would deadlock.
    class Turn {
      public:
        explicit Turn(const RowsSource& source) : source_(source) {
            if (source.owner_ == std::this_thread::get_id())
                throw Refused(
                    "the function that supplies rows of costs asked for these costs itself: let it solve or read "
                    "others only");
            while (!source.mutex_.try_lock_for(std::chrono::milliseconds(50))) {
                if (source.taken_in_ != forks())
                    throw Refused(
                        "these costs were being read by another thread when this process was forked, and cannot be "
                        "read here: make "
                        "the source anew in the child process");
                if (source.waiting_) source.waiting_();
            }
            source.owner_ = std::this_thread::get_id();
            source.taken_in_ = forks();
        }
        ~Turn() {
            source_.owner_ = std::thread::id{};
            source_.mutex_.unlock();
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

      private:
        const RowsSource& source_;
    };

    // None of these rows, rows_at_once() at most, is held; all are on return.
    void request(Index begin, Index end) const {
        std::vector<T*> rows;
        const auto began = std::chrono::steady_clock::now();
        Index placed = begin;
        try {
            for (; placed < end; ++placed) rows.push_back(memory_[cache_.place(placed)]);
            supply_(begin, end, rows.data());
        } catch (...) {
            for (Index i = begin; i < end && i <= placed; ++i)
                if (cache_.holds(i)) cache_.drop(i);
            throw;
        }
        counters_.misses += end - begin;
        ++counters_.requests;
        counters_.request_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    }

    Index cols_, at_once_;
    mutable std::timed_mutex mutex_;  // guards all below
    mutable std::atomic<std::thread::id> owner_{};
    mutable std::atomic<int> taken_in_ = 0;  // forks() of the process that last took the lock
    mutable RowCache cache_;
    mutable Slots<T> memory_;
    mutable RowCounters counters_;
    Supply supply_;
    Waiting waiting_;
    Pairs pairs_;
};

}  // namespace lapwing
