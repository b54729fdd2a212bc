// CUDA on the processor: include this, then a .cu file, and its kernels are C++ functions that launch() runs on a grid.
//
// Every block is an OS thread (so `__shared__` is thread_local), every thread of a block a fiber in it. A fiber runs
// until it waits: at a barrier, at a warp operation until all lanes of its mask are there, or in __nanosleep(), which a
// spinning loop must call. A switch costs about 10 ns. Found and reported, by an exception from launch():
//   - deadlock: threads that wait for others that wait elsewhere, or spin without end;
//   - lanes of one mask that meet at different operations; a mask that leaves its caller out; a stack that overflows;
//   - under AddressSanitizer, reads and writes outside arrays, dynamic shared memory included;
//   - under ThreadSanitizer, races: two threads, warps and shared memory included, that touch a word without a barrier
//     (__syncthreads, __syncwarp) or atomic between them. Shuffles, votes and reductions order nothing, as on the GPU.
// With a seed, fibers and blocks run in a random order, and atomics may switch: each seed is another schedule.
//
// As on Volta and later, nobody waits for threads that have returned. Not there: inline PTX, textures, streams,
// the memory model weaker than the processor's, cooperative groups. A kernel writes LAPWING_DYNAMIC_SHARED(name) for
// `extern __shared__ unsigned char name[]`, and keeps PTX in small functions, left out under LAPWING_EMULATION.
#pragma once

#define LAPWING_EMULATION 1

#include <atomic>
#include <bit>
#include <cfloat>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <type_traits>

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};

#if defined(__SANITIZE_THREAD__)
extern "C" {
void AnnotateIgnoreReadsBegin(const char*, int);
void AnnotateIgnoreReadsEnd(const char*, int);
}
#endif

namespace lapwing::emulation {

// While one lives, ThreadSanitizer does not look at this fiber's reads; it must not wait meanwhile.
struct UnstableLoads {
#if defined(__SANITIZE_THREAD__)
    UnstableLoads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
    ~UnstableLoads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
    UnstableLoads(const UnstableLoads&) = delete;
    UnstableLoads& operator=(const UnstableLoads&) = delete;
#else
    UnstableLoads() {}
#endif
};

struct Launch {
    dim3 grid = {};
    dim3 block = {};
    std::size_t shared_bytes = 0;
    std::uint64_t seed = 0;     // of the schedule; 0: everything in order
    bool cooperative = false;   // all blocks at once, else as many as there are processors
    unsigned cluster_size = 1;  // in blocks; more than 1 implies cooperative
    double patience = 20;       // seconds without progress, after which spinning is a deadlock
};

// Returns when all threads have; throws std::runtime_error for what is listed above, and what a kernel throws.
void launch(const Launch& how, const std::function<void()>& kernel);

struct Warp;
struct Block;
struct Fiber;
using Combine = void (*)(Fiber* const* lanes, std::uint32_t members);  // reads each one's in, writes each one's out

// A thread of the grid. It holds the operand and the result of a waiting lane, which the last lane to arrive combines.
struct Fiber {
    dim3 thread, block_index;
    unsigned number, lane;  // in the block, in the warp
    Block* block;
    Warp* warp;
    const char* where;  // the operation that it waits at, or null
    std::uint32_t mask;
    int argument;
    std::uint64_t in, out;
    Combine combine;
    void* stack_pointer;
    void* sanitizer_state;
};

// Every step asks for these: no call finds their address, though programs may be libraries that are loaded late.
#define LAPWING_EARLY_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local
extern constinit LAPWING_EARLY_THREAD_LOCAL Fiber* current;
extern constinit LAPWING_EARLY_THREAD_LOCAL const Launch* current_launch;

std::uint64_t collective(const char* name, std::uint32_t mask, std::uint64_t value, int argument, Combine combine);
int barrier(const char* name, int predicate, unsigned id = 0, unsigned threads = 0);  // threads 0: all of the block
void pause(bool spinning);                          // lets others run; spinning: there was nothing to do
void order_memory(const void* what, bool release);  // for ThreadSanitizer
unsigned char* dynamic_shared(unsigned cluster_rank);
void cluster_barrier();
std::uint32_t random_bits();

inline void maybe_switch() {
    if (current_launch->seed != 0 && random_bits() % 8 == 0) pause(false);
}

// The primitives of a cluster, for kernels' own wrappers of the PTX.
inline unsigned cluster_rank() { return current->block_index.x % current_launch->cluster_size; }
template <class T>
T* map_shared(T* mine, unsigned rank) {  // dynamic shared memory only
    return reinterpret_cast<T*>(dynamic_shared(rank) +
                                (reinterpret_cast<unsigned char*>(mine) - dynamic_shared(cluster_rank())));
}

template <class T>
std::uint64_t to_bits(T value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
}
template <class T>
T from_bits(std::uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

template <class F>
void for_each_member(std::uint32_t members, F&& visit) {
    for (; members != 0; members &= members - 1) visit(std::countr_zero(members));
}

template <class T>
T shuffle(const char* name, std::uint32_t mask, T value, int source) {
    return from_bits<T>(collective(name, mask, to_bits(value), source, [](Fiber* const* lanes, std::uint32_t members) {
        for_each_member(members, [&](int l) {
            const int from = lanes[l]->argument;
            lanes[l]->out = members >> from & 1 ? lanes[from]->in : 0xdeadbeefdeadbeef;
        });
    }));
}
template <class T, class Op>
T reduce(const char* name, std::uint32_t mask, T value, Op) {
    return from_bits<T>(collective(name, mask, to_bits(value), 0, [](Fiber* const* lanes, std::uint32_t members) {
        T result = from_bits<T>(lanes[std::countr_zero(members)]->in);
        for_each_member(members & (members - 1), [&](int l) { result = Op{}(result, from_bits<T>(lanes[l]->in)); });
        for_each_member(members, [&](int l) { lanes[l]->out = to_bits(result); });
    }));
}
template <class T, class Op>
T update(T* address, Op op) {  // returns the old value
    maybe_switch();
    T old;
    __atomic_load(address, &old, __ATOMIC_RELAXED);
    for (T next = op(old); !__atomic_compare_exchange(address, &old, &next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);)
        next = op(old);
    return old;
}
template <class T>
T load(const T* address) {
    maybe_switch();
    if constexpr (sizeof(T) > 8) {
        return *address;
    } else {
        T value;
        __atomic_load(address, &value, __ATOMIC_ACQUIRE);
        return value;
    }
}

}  // namespace lapwing::emulation

// --- words of the language -----------------------------------------------------------------------------------------

#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local
#define __constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)
#define LAPWING_DYNAMIC_SHARED(name) \
    unsigned char* const name = ::lapwing::emulation::dynamic_shared(::lapwing::emulation::cluster_rank())
#define threadIdx (::lapwing::emulation::current->thread)
#define blockIdx (::lapwing::emulation::current->block_index)
#define blockDim (::lapwing::emulation::current_launch->block)
#define gridDim (::lapwing::emulation::current_launch->grid)

inline constexpr int warpSize = 32;

// --- barriers and warp operations ----------------------------------------------------------------------------------

inline void __syncthreads() { ::lapwing::emulation::barrier("__syncthreads", 0); }
inline int __syncthreads_or(int p) { return ::lapwing::emulation::barrier("__syncthreads_or", p != 0) != 0; }
inline int __syncthreads_and(int p) { return ::lapwing::emulation::barrier("__syncthreads_and", p == 0) == 0; }
inline int __syncthreads_count(int p) { return ::lapwing::emulation::barrier("__syncthreads_count", p != 0); }
inline void __nanosleep(unsigned) { ::lapwing::emulation::pause(true); }
inline void __syncwarp(unsigned mask = ~0u) {
    ::lapwing::emulation::order_memory(::lapwing::emulation::current->warp, true);
    ::lapwing::emulation::collective("__syncwarp", mask, 0, 0, [](auto*, std::uint32_t) {});
    ::lapwing::emulation::order_memory(::lapwing::emulation::current->warp, false);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    const int lane = static_cast<int>(::lapwing::emulation::current->lane);
    return ::lapwing::emulation::shuffle("__shfl_sync", mask, value, (lane & -width) | (source & (width - 1)));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
    const int lane = static_cast<int>(::lapwing::emulation::current->lane), from = lane ^ lanes;
    return ::lapwing::emulation::shuffle("__shfl_xor_sync", mask, value, from < (lane & -width) + width ? from : lane);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    const int lane = static_cast<int>(::lapwing::emulation::current->lane), from = lane - static_cast<int>(delta);
    return ::lapwing::emulation::shuffle("__shfl_up_sync", mask, value, from >= (lane & -width) ? from : lane);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    const int lane = static_cast<int>(::lapwing::emulation::current->lane), from = lane + static_cast<int>(delta);
    return ::lapwing::emulation::shuffle("__shfl_down_sync", mask, value, from < (lane & -width) + width ? from : lane);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
    const unsigned bit = predicate != 0 ? 1u << ::lapwing::emulation::current->lane : 0;
    return ::lapwing::emulation::reduce("__ballot_sync", mask, bit, std::bit_or<unsigned>{});
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }
template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
    using namespace lapwing::emulation;
    const auto match = [](Fiber* const* lanes, std::uint32_t members) {
        for_each_member(members, [&](int l) {
            lanes[l]->out = 0;
            for_each_member(members, [&](int k) { lanes[l]->out |= std::uint64_t{lanes[k]->in == lanes[l]->in} << k; });
        });
    };
    return static_cast<unsigned>(collective("__match_any_sync", mask, to_bits(value), 0, match));
}
#define LAPWING_REDUCE(T, name, ...)                                 \
    inline T name(unsigned mask, T value) {                          \
        const auto op = [](T a, T b) -> T { return __VA_ARGS__; };   \
        return ::lapwing::emulation::reduce(#name, mask, value, op); \
    }
LAPWING_REDUCE(unsigned, __reduce_min_sync, a < b ? a : b)
LAPWING_REDUCE(unsigned, __reduce_max_sync, a < b ? b : a)
LAPWING_REDUCE(unsigned, __reduce_add_sync, a + b)
LAPWING_REDUCE(unsigned, __reduce_and_sync, a& b)
LAPWING_REDUCE(unsigned, __reduce_or_sync, a | b)
LAPWING_REDUCE(unsigned, __reduce_xor_sync, a ^ b)
LAPWING_REDUCE(int, __reduce_min_sync, a < b ? a : b)
LAPWING_REDUCE(int, __reduce_max_sync, a < b ? b : a)
LAPWING_REDUCE(int, __reduce_add_sync, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
#undef LAPWING_REDUCE

// --- memory --------------------------------------------------------------------------------------------------------

#define LAPWING_ATOMIC(name, ...)                                                              \
    template <class T>                                                                         \
    T name(T* address, std::type_identity_t<T> x) {                                            \
        return ::lapwing::emulation::update(address, [x](T old) -> T { return __VA_ARGS__; }); \
    }
LAPWING_ATOMIC(atomicAdd, static_cast<T>(old + x))
LAPWING_ATOMIC(atomicSub, static_cast<T>(old - x))
LAPWING_ATOMIC(atomicMin, old < x ? old : x)
LAPWING_ATOMIC(atomicMax, old < x ? x : old)
LAPWING_ATOMIC(atomicAnd, old& x)
LAPWING_ATOMIC(atomicOr, old | x)
LAPWING_ATOMIC(atomicXor, old ^ x)
LAPWING_ATOMIC(atomicExch, (static_cast<void>(old), x))
#undef LAPWING_ATOMIC
template <class T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
    ::lapwing::emulation::maybe_switch();
    __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
template <class T>
T __ldg(const T* address) {
    return *address;
}
template <class T>
T __ldca(const T* address) {
    return *address;
}
template <class T>
T __ldcg(const T* address) {
    return ::lapwing::emulation::load(address);
}
template <class T>
T __ldcs(const T* address) {
    return *address;
}
template <class T>
void __stcg(T* address, std::type_identity_t<T> value) {
    if constexpr (sizeof(T) > 8)
        *address = value;
    else
        __atomic_store(address, &value, __ATOMIC_RELEASE);
}

// --- arithmetic ----------------------------------------------------------------------------------------------------

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
    unsigned y = 0;
    for (int k = 0; k < 32; ++k) y |= (x >> k & 1) << (31 - k);
    return y;
}
inline unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
           __brev(static_cast<unsigned>(x >> 32));
}
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(std::uint64_t{a} * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    __extension__ typedef unsigned __int128 Wide;
    return static_cast<unsigned long long>(static_cast<Wide>(a) * b >> 64);
}
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
    return __longlong_as_double(
        static_cast<long long>(static_cast<std::uint64_t>(high) << 32 | static_cast<unsigned>(low)));
}
inline double __dadd_rn(double a, double b) { return a + b; }  // compile with -ffp-contract=off
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
// Rounded towards minus or plus infinity: from the error of the sum, which is exact.
inline double __dadd_rd(double a, double b) {
    const double s = a + b, t = s - a, error = (a - (s - t)) + (b - t);
    return error < 0 ? std::nextafter(s, -HUGE_VAL) : s;
}
inline float __fadd_ru(float a, float b) {
    const float s = a + b, t = s - a, error = (a - (s - t)) + (b - t);
    return error > 0 ? std::nextafterf(s, HUGE_VALF) : s;
}
// The product must be exact.
inline float __fmaf_rd(float a, float b, float c) {
    const float product = a * b, sum = -__fadd_ru(-product, -c);
    return sum > FLT_MAX && product <= FLT_MAX && c <= FLT_MAX ? FLT_MAX : sum;
}
inline double __dadd_ru(double a, double b) { return -__dadd_rd(-a, -b); }
inline double __dmul_ru(double a, double b) {
    const double product = a * b;
    return std::fma(a, b, -product) > 0 ? std::nextafter(product, HUGE_VAL) : product;
}
inline float __double2float_rd(double x) {
    const auto f = static_cast<float>(x);
    return f > x ? std::nextafterf(f, -HUGE_VALF) : f;
}
inline float __double2float_ru(double x) { return -__double2float_rd(-x); }
inline float __ll2float_rd(long long x) {
    const auto f = static_cast<float>(x);  // to nearest; 2^63 is no long long
    return f >= 0x1p63f || static_cast<long long>(f) > x ? std::nextafterf(f, -HUGE_VALF) : f;
}
inline float __ll2float_ru(long long x) {
    const auto f = static_cast<float>(x);
    return f < 0x1p63f && static_cast<long long>(f) < x ? std::nextafterf(f, HUGE_VALF) : f;
}
inline float __int2float_rd(int x) { return __ll2float_rd(x); }
inline float __uint2float_rd(unsigned x) { return __ll2float_rd(x); }
inline float __uint2float_ru(unsigned x) { return __ll2float_ru(x); }
inline long long __float2ll_ru(float x) {
    return x >= 0x1p63f ? LLONG_MAX : x < -0x1p63f ? LLONG_MIN : static_cast<long long>(std::ceil(x));
}
inline float __double2float_rn(double x) { return static_cast<float>(x); }
template <class A, class B>
constexpr auto min(A a, B b) {
    return b < a ? b : a;
}
template <class A, class B>
constexpr auto max(A a, B b) {
    return a < b ? b : a;
}
inline long long clock64() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

#define LAPWING_VECTOR(T, name)                                                   \
    struct alignas(2 * sizeof(T)) name##2 { T x, y; };                            \
    struct alignas(sizeof(T) < 8 ? 4 * sizeof(T) : 16) name##4 { T x, y, z, w; }; \
    inline name##2 make_##name##2(T x, T y) { return {x, y}; }                    \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
LAPWING_VECTOR(float, float)
LAPWING_VECTOR(double, double)
LAPWING_VECTOR(int, int)
LAPWING_VECTOR(unsigned, uint)
LAPWING_VECTOR(unsigned short, ushort)
LAPWING_VECTOR(unsigned char, uchar)
LAPWING_VECTOR(long long, longlong)
LAPWING_VECTOR(unsigned long long, ulonglong)
#undef LAPWING_VECTOR
