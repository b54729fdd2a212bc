// Memory operations that CUDA C++ cannot express: 16-byte loads, atomics on a known state space, prefetches, and loads
// and additions with acquire and release order. All PTX of the project is here, in numbers.cuh and in cluster.cuh.
// Under LAPWING_EMULATION (cpp/tests/emulation) each function does the same on the processor.
#pragma once
#include "common/numbers.cuh"

// 16 bytes of costs, loaded at once by one lane.
template <class T>
struct alignas(16) Pack {
    static constexpr uint32 size = 16 / sizeof(T);
    T values[size];
};

// 16 aligned bytes of global memory that no thread writes while the kernel runs. Data that is read once is kept out of
// L1.
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

// Atomics on memory known to be global, or shared. (On a generic pointer they need a test, which even atomics without a
// result wait for.)
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
__device__ inline void add_in_global(uint64* address, uint64 x) {
#ifdef LAPWING_EMULATION
    atomicAdd(address, x);
#else
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "l"(x) : "memory");
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

// Prefetches global memory that this block will read soon.
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

// A plain load of 4 or 8 bytes of global memory, which may hit L1. (__ldca differs on a GPU: it reads L2 each time.)
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

// Operations on global memory with the ordering for barriers between blocks: an acquiring load that reads a released
// value sees everything written before the release.
__device__ inline uint32 add_release(uint32* address, uint32 x) {
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
    __nanosleep(0);  // yields to other threads while spinning
    return __ldcg(address);
#else
    uint32 value;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
#endif
}

// A word that goes from GPU to GPU in one piece; nothing else is ordered by it.
__device__ inline void store_to_gpus(uint64* address, uint64 word) {
#ifdef LAPWING_EMULATION
    atomicExch(address, word);
#else
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "l"(word) : "memory");
#endif
}
__device__ inline uint64 load_from_gpus(const uint64* address) {
#ifdef LAPWING_EMULATION
    __nanosleep(0);  // yields to other threads while spinning
    return __ldcg(address);
#else
    uint64 word;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
                 : "=l"(word)
                 : "l"(__cvta_generic_to_global(address))
                 : "memory");
    return word;
#endif
}

// The GPU's clock, the same for all of its multiprocessors; it may advance by a microsecond at a time.
__device__ inline uint64 nanoseconds() {
#ifdef LAPWING_EMULATION
    return static_cast<uint64>(clock64());
#else
    uint64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
#endif
}
