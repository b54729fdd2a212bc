// The channel between the host and a running kernel: words in device memory, which the host copies to and from on a
// stream of its own (gpu/core/monitor.py).
//
// A helper warp polls them once in Tuning::commands_between_polls commands, so that polls cost nothing. The
// coordinator stops between commands, when duals are feasible and matched pairs are tight.
#pragma once
#include "common/common.cuh"

struct HostChannel {
    // By the host.
    uint32 stop;       // the coordinator stops after so many commands, at the next look; 0: it does not
    uint32 requested;  // raised where news is requested
    // By the coordinator.
    uint32 stage, phase, matched;
    uint32 answered;  // the `requested` that this answers
    double bound;     // dual objective, up to rounding; -infinity where it is not known
};

// In the shared memory of block 0: what was seen at the last look.
struct HostSignals {
    HostChannel* channel;
    uint32 requested, answered;
    bool stopped;

    __device__ void begin(HostChannel* words) {
        channel = words;
        answered = 0;
        stopped = false;
        poll(0);
    }
    // By the thread that looks; volatile, so that no other reads it in advance.
    __device__ bool reads_stop() const { return *const_cast<const volatile bool*>(&stopped); }
    // By one thread.
    __device__ void poll(uint32 commands) {
        const uint32 stop = __ldcg(&channel->stop);
        requested = __ldcg(&channel->requested);
        stopped = stopped || (stop != 0 && commands >= stop - 1);
    }
    __device__ bool polls_stop() const { return __ldcg(&channel->stop) != 0; }
    // By one thread.
    __device__ void publish(uint32 stage, uint32 phase, uint32 matched, double bound) {
        answered = requested;
        channel->stage = stage;
        channel->phase = phase;
        channel->matched = matched;
        channel->bound = bound;
        __threadfence();
        channel->answered = answered;
    }
};
