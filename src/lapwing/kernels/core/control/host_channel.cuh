// What the host and a running kernel tell each other: words in device memory, which the host copies to and from on a stream of
// its own (gpu/core/monitor.py). A warp that assists the leader looks at them once in kOrdersBetweenLooks orders, so that watching
// costs nothing; the leader stops between orders, with duals that are feasible and matched pairs that are tight.
#pragma once
#include "common/common.cuh"

constexpr uint32 kOrdersBetweenLooks = 4;

struct Watch {
    // By the host.
    uint32 stop;    // the leader stops after so many orders, at the next look; 0: it does not
    uint32 wanted;  // raised where news is wanted
    // By the leader.
    uint32 stage, phase, matched;
    uint32 told;   // the `wanted` that this answers
    double bound;  // dual objective, up to rounding; -infinity where it is not known
};

// In the shared memory of block 0: what was seen at the last look.
struct Lookout {
    Watch* watch;
    uint32 wanted, told;
    bool stopped;

    __device__ void begin(Watch* words) {
        watch = words;
        told = 0;
        stopped = false;
        look(0);
    }
    // By the thread that looks; volatile, so that no other reads it in advance.
    __device__ bool says_stop() const { return *const_cast<const volatile bool*>(&stopped); }
    // By one thread.
    __device__ void look(uint32 orders) {
        const uint32 stop = __ldcg(&watch->stop);
        wanted = __ldcg(&watch->wanted);
        stopped = stopped || (stop != 0 && orders >= stop - 1);
    }
    __device__ bool told_to_stop() const { return __ldcg(&watch->stop) != 0; }
    // By one thread.
    __device__ void tell(uint32 stage, uint32 phase, uint32 matched, double bound) {
        told = wanted;
        watch->stage = stage;
        watch->phase = phase;
        watch->matched = matched;
        watch->bound = bound;
        __threadfence();
        watch->told = told;
    }
};
