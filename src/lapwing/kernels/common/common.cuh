// What all kernels share: number types, 16-byte loads, warp and grid primitives.
//
// Plain CUDA C++17 without any header, so that NVRTC needs nothing beside it. Types carry NumPy's names; a program that
// is compiled for several cost types gets the macro COST and finds `Cost` and `Dual` here.
//
// Compiled without contraction to fused multiply-add (gpu/runtime/compile.py): `c - u - v` has the same bits everywhere. All PTX
// is in small functions here; under LAPWING_EMULATION (cpp/tests/emulation) each does the same on the processor.
#pragma once

#ifndef LAPWING_EMULATION
// The block's dynamic shared memory, [launched bytes], as unsigned char; declare it once in a kernel.
#define LAPWING_DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#define LAPWING_NOINLINE __noinline__
#else
#define LAPWING_NOINLINE [[gnu::noinline]]
#endif

using int8 = signed char;
using int16 = short;
using int32 = int;
using int64 = long long;
using uint8 = unsigned char;
using uint16 = unsigned short;
using uint32 = unsigned int;
using uint64 = unsigned long long;
using float32 = float;
using float64 = double;
struct float16 {
    uint16 bits;
};
struct bfloat16 {
    uint16 bits;
};

constexpr uint32 kWarp = 32;
constexpr uint32 kAllLanes = 0xffffffffu;

// --- numbers ------------------------------------------------------------------------------------------------------

// All sums and duals of a cost type, as on the CPU (cpp/include/lapwing/types.hpp).
template <class T>
struct DualOf {
    using type = int64;
};
template <>
struct DualOf<float16> {
    using type = double;
};
template <>
struct DualOf<bfloat16> {
    using type = double;
};
template <>
struct DualOf<float> {
    using type = double;
};
template <>
struct DualOf<double> {
    using type = double;
};

#ifdef COST
using Cost = COST;
using Dual = DualOf<Cost>::type;
#endif

// Larger than every distance and dual; an absent bound. For integers it leaves room to add any valid cost.
template <class D>
__device__ inline D infinity() {
    if constexpr (D(0.5) != D(0)) {
        return __longlong_as_double(0x7ff0000000000000ll);
    } else {
        return 0x3fffffffffffffffll;
    }
}

// Any cost as its dual type, exactly.
__device__ inline int64 widened(int64 c) { return c; }
__device__ inline int64 widened(int32 c) { return c; }
__device__ inline int64 widened(int16 c) { return c; }
__device__ inline int64 widened(int8 c) { return c; }
__device__ inline int64 widened(uint32 c) { return c; }
__device__ inline int64 widened(uint16 c) { return c; }
__device__ inline int64 widened(uint8 c) { return c; }
__device__ inline double widened(double c) { return c; }
__device__ inline double widened(float c) { return c; }
__device__ inline double widened(bfloat16 c) { return __int_as_float(static_cast<int>(c.bits) << 16); }
__device__ inline double widened(float16 c) {
#ifdef LAPWING_EMULATION
    _Float16 half;
    memcpy(&half, &c, sizeof half);
    return half;
#else
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(c.bits));
    return wide;
#endif
}

// The lesser, or NaN if either is.
__device__ inline float min_or_nan(float a, float b) {
#if !defined(LAPWING_EMULATION) && __CUDA_ARCH__ >= 800
    float least;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
    return least;
#else
    return a < b || a != a ? a : b;
#endif
}

// NaN if x is, else the larger; and the lesser, or a if x is NaN.
__device__ inline float larger_or_nan(float a, float x) {
#if !defined(LAPWING_EMULATION) && __CUDA_ARCH__ >= 800
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(x));
    return larger;
#else
    return x < a ? a : x;
#endif
}
__device__ inline float lesser_number(float a, float x) {
#ifndef LAPWING_EMULATION
    return fminf(a, x);
#else
    return x < a ? x : a;  // a processor's fminf makes NaN of a signalling one
#endif
}

// A key whose unsigned order is the order of the numbers (-0 before +0; NaN outside), and the number of a key.
__device__ inline uint64 ordered(double x) {
    const int64 bits = __double_as_longlong(x);
    return static_cast<uint64>(bits < 0 ? ~bits : bits ^ (1ll << 63));
}
__device__ inline uint64 ordered(int64 x) { return static_cast<uint64>(x) ^ (1ull << 63); }
template <class D>
__device__ D from_order(uint64 key) {
    const int64 bits = static_cast<int64>(key);
    if constexpr (D(0.5) != D(0))
        return __longlong_as_double(bits < 0 ? bits ^ (1ll << 63) : ~bits);
    else
        return bits ^ (1ll << 63);
}

// --- memory -------------------------------------------------------------------------------------------------------

// 16 bytes of costs: what one lane loads at once.
template <class T>
struct alignas(16) Pack {
    static constexpr uint32 size = 16 / sizeof(T);
    T values[size];
};

// 16 aligned bytes of global memory that no one writes while the kernel runs; of what is read once, kept out of L1.
template <class T>
__device__ Pack<T> load_pack_again(const T* from) {
#ifdef LAPWING_EMULATION
    return *reinterpret_cast<const Pack<T>*>(from);
#else
    union {
        uint32 words[4];
        Pack<T> pack;
    };
    asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "l"(from));
    return pack;
#endif
}
template <class T>
__device__ Pack<T> load_pack(const T* from) {
#ifdef LAPWING_EMULATION
    return *reinterpret_cast<const Pack<T>*>(from);
#else
    union {
        uint32 words[4];
        Pack<T> pack;
    };
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "l"(from));
    return pack;
#endif
}

// Atomics of memory that is known to be global, or shared. (On a pointer that may be either they cost a test, and even those
// whose answer nobody needs wait for it.)
__device__ inline uint32 add_in_global(uint32* address, uint32 x) {
#ifdef LAPWING_EMULATION
    return atomicAdd(address, x);
#else
    uint32 before;
    asm volatile("atom.global.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(__cvta_generic_to_global(address)), "r"(x)
                 : "memory");
    return before;
#endif
}
__device__ inline uint32 add_in_shared(uint32* address, uint32 x) {
#ifdef LAPWING_EMULATION
    return atomicAdd(address, x);
#else
    uint32 before;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "r"(static_cast<uint32>(__cvta_generic_to_shared(address))), "r"(x)
                 : "memory");
    return before;
#endif
}
__device__ inline uint32 max_in_global(uint32* address, uint32 x) {
#ifdef LAPWING_EMULATION
    return atomicMax(address, x);
#else
    uint32 before;
    asm volatile("atom.global.max.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(__cvta_generic_to_global(address)), "r"(x)
                 : "memory");
    return before;
#endif
}
__device__ inline void min_in_global(uint64* address, uint64 x) {
#ifdef LAPWING_EMULATION
    atomicMin(address, x);
#else
    asm volatile("red.global.min.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "l"(x) : "memory");
#endif
}
__device__ inline void max_in_global(uint64* address, uint64 x) {
#ifdef LAPWING_EMULATION
    atomicMax(address, x);
#else
    asm volatile("red.global.max.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "l"(x) : "memory");
#endif
}

// Global memory that this block will read soon.
__device__ inline void prefetch(const void* from) {
#ifndef LAPWING_EMULATION
    asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
#endif
}

// The same into L2, for any block.
__device__ inline void prefetch_far(const void* from) {
#ifndef LAPWING_EMULATION
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#endif
}

// A plain load of 4 or 8 bytes of global memory, which L1 may have. (__ldca is another on a GPU: it asks L2 each time.)
template <class T>
__device__ inline T load_plain(const T* from) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    T value;
    if constexpr (sizeof(T) == 4) {
        uint32 word;
#ifdef LAPWING_EMULATION
        word = __ldca(reinterpret_cast<const uint32*>(from));
#else
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(word) : "l"(__cvta_generic_to_global(from)));
#endif
        memcpy(&value, &word, sizeof(T));
    } else {
        uint64 word;
#ifdef LAPWING_EMULATION
        word = __ldca(reinterpret_cast<const uint64*>(from));
#else
        asm volatile("ld.global.u64 %0, [%1];" : "=l"(word) : "l"(__cvta_generic_to_global(from)));
#endif
        memcpy(&value, &word, sizeof(T));
    }
    return value;
}

// Of global memory, with the ordering that barriers between blocks need.
__device__ inline uint32 add_release(uint32* address, uint32 x) {  // what was written before is seen by who acquires it
#ifdef LAPWING_EMULATION
    return atomicAdd(address, x);
#else
    uint32 before;
    asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(x) : "memory");
    return before;
#endif
}
__device__ inline uint32 load_acquire(const uint32* address) {
#ifdef LAPWING_EMULATION
    __nanosleep(0);  // a spinning thread lets others run
    return __ldcg(address);
#else
    uint32 value;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
#endif
}

// --- warps --------------------------------------------------------------------------------------------------------

__device__ inline uint32 lane_index() { return threadIdx.x % kWarp; }  // of blocks whose x extent is a multiple of 32

// `combine` of all lanes' values, valid in every lane; all 32 lanes call it. T: a type of 4 or 8 bytes.
template <class T, class Combine>
__device__ T warp_reduce(T value, Combine combine) {
#pragma unroll
    for (uint32 distance = kWarp / 2; distance > 0; distance /= 2) {
        value = combine(value, __shfl_xor_sync(kAllLanes, value, distance));
    }
    return value;
}

// The least of all lanes' values, or their sum, in every lane.
__device__ inline uint32 warp_min(uint32 x) {
#if defined(LAPWING_EMULATION) || __CUDA_ARCH__ >= 800
    return __reduce_min_sync(kAllLanes, x);
#else
    return warp_reduce(x, [](uint32 a, uint32 b) { return a < b ? a : b; });
#endif
}
__device__ inline uint64 warp_min(uint64 x) {
    const uint32 high = static_cast<uint32>(x >> 32), least = warp_min(high);
    const uint32 low = warp_min(high == least ? static_cast<uint32>(x) : ~0u);
    return static_cast<uint64>(least) << 32 | low;
}
__device__ inline uint32 warp_sum(uint32 x) {
#if defined(LAPWING_EMULATION) || __CUDA_ARCH__ >= 800
    return __reduce_add_sync(kAllLanes, x);
#else
    return warp_reduce(x, [](uint32 a, uint32 b) { return a + b; });
#endif
}
// How many of `count` things before(k) holds for. All lanes call it, and get it.
template <class Before>
__device__ uint32 warp_count(uint32 count, Before before) {
    uint32 all = 0;
    for (uint32 base = 0; base < count; base += kWarp) {
        const uint32 k = base + lane_index();
        all += __popc(__ballot_sync(kAllLanes, k < count && before(k)));
    }
    return all;
}

// --- grid and cluster ---------------------------------------------------------------------------------------------

// Waits for all threads of the first `blocks` blocks of a cooperative launch; what they wrote to global memory before is seen
// after. Every thread of these blocks calls it. `arrivals` is one word of global memory for this number of blocks, zero before
// its first use ever; it needs no reset. Block 0 adds what the others leave out to 2^31, so that the top bit flips once all
// have arrived.
__device__ inline void grid_barrier(uint32* arrivals, uint32 blocks) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32 step = blockIdx.x == 0 ? 0x80000000u - (blocks - 1) : 1u;
        const uint32 before = add_release(arrivals, step);
        while (((before ^ load_acquire(arrivals)) & 0x80000000u) == 0) {
        }
    }
    __syncthreads();
}

#ifdef LAPWING_EMULATION
using lapwing::emulation::cluster_barrier;
using lapwing::emulation::cluster_rank;
__device__ inline void cluster_arrive() {}
__device__ inline void cluster_wait() { cluster_barrier(); }
template <class T>
T* in_block(T* shared, uint32 rank) {
    return lapwing::emulation::map_shared(shared, rank);
}
#elif __CUDA_ARCH__ >= 900
// Waits for all threads of the cluster; what they wrote to shared and global memory before is seen after. Its halves are for what no
// other thread waits for.
__device__ inline void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ inline void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ inline void cluster_barrier() {
    cluster_arrive();
    cluster_wait();
}
__device__ inline uint32 cluster_rank() {
    uint32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
// The same place in the dynamic shared memory of block `rank` of the cluster, as a generic pointer.
template <class T>
__device__ T* in_block(T* shared, uint32 rank) {
    T* there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(rank));
    return there;
}
#endif
