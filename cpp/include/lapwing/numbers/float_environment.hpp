// The arithmetic of IEEE 754 as every method and every proof means it: rounding to nearest, subnormal numbers, no
// traps.
//
// The host process may compute otherwise: libraries built with -ffast-math have the processor flush subnormal numbers
// to zero, and interval arithmetic changes the rounding. Every entry of the core, and every thread that computes for
// it, holds an object of this class, which restores the earlier state when it ends. It costs a nanosecond, unless there
// is something to change.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

namespace lapwing {

class DefaultFloatEnvironment {
  public:
#if defined(__x86_64__)
    DefaultFloatEnvironment() : saved_(_mm_getcsr()) {
        if ((saved_ & ~kFlags) != kDefault) _mm_setcsr(kDefault | (saved_ & kFlags));
    }
    ~DefaultFloatEnvironment() {
        if ((saved_ & ~kFlags) != kDefault) _mm_setcsr(saved_);
    }
#elif defined(__aarch64__)
    DefaultFloatEnvironment() {
        asm volatile("mrs %0, fpcr" : "=r"(saved_));
        if (saved_ != 0) write(0);
    }
    ~DefaultFloatEnvironment() {
        if (saved_ != 0) write(saved_);
    }
#else
    DefaultFloatEnvironment() {
        std::fegetenv(&saved_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloatEnvironment() { std::fesetenv(&saved_); }
#endif
    DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
    DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

  private:
#if defined(__x86_64__)
    static constexpr unsigned kDefault = 0x1F80, kFlags = 0x3F;  // all exceptions masked; those that have occurred
    const unsigned saved_;
#elif defined(__aarch64__)
    static void write(std::uint64_t word) { asm volatile("msr fpcr, %0" : : "r"(word) : "memory"); }
    std::uint64_t saved_;
#else
    std::fenv_t saved_;
#endif
};

}  // namespace lapwing
