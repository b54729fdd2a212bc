// Barriers and shared memory of a thread-block cluster, for architectures that have them (compute capability 9.0 and
// later).
#pragma once
#include "common/numbers.cuh"

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
// A barrier of all threads of the cluster. Afterwards they see everything written to shared and global memory before
// it. Its two halves serve waits in which other work is done in between.
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
// The same address in the dynamic shared memory of block `rank` of the cluster, as a generic pointer.
template <class T>
__device__ T* in_block(T* shared, uint32 rank) {
    T* there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(rank));
    return there;
}
#endif
