// The channel between the host and a running kernel: words in device memory. The host copies to and from them on a
// separate stream (gpu/core/monitor.py).
//
// A helper warp polls them once in Tuning::commands_between_polls commands, so the cost of polling is negligible. The
// coordinator stops only between commands, when duals are feasible and matched pairs are tight.
#pragma once
#include "common/common.cuh"

struct HostChannel {
    // Written by the host.
    uint32 stop;       // the coordinator stops at the first poll after so many commands; 0: it does not stop
    uint32 requested;  // raised to request progress
    // Written by the coordinator.
    uint32 stage, phase, matched;
    uint32 answered;  // the value of `requested` that these words answer
    double bound;     // dual objective, up to rounding; -infinity if unknown
};

// Polls of a word that another GPU writes between two looks at `stop`.
#ifdef LAPWING_EMULATION
constexpr uint32 kPollsBetweenLooks = 1 << 12;
#else
constexpr uint32 kPollsBetweenLooks = 1 << 20;  // the better part of a second
#endif

// In the shared memory of block 0: the signals as of the last poll.
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
    // Called by the polling thread; volatile, so that the compiler does not read it early.
    __device__ bool reads_stop() const { return *const_cast<const volatile bool*>(&stopped); }
    // Called by one thread.
    __device__ void poll(uint32 commands) {
        const uint32 stop = __ldcg(&channel->stop);
        requested = __ldcg(&channel->requested);
        stopped = stopped || (stop != 0 && commands >= stop - 1);
    }
    __device__ bool polls_stop() const { return __ldcg(&channel->stop) != 0; }
    // Called by one thread.
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
