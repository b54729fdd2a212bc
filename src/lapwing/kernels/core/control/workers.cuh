// The loops that carry out commands: the helper loop of block 0, the worker loop of the other blocks, and dispatch.
//
// The protocol of commands:
//
//     coordinator                helpers                         blocks of the cluster        other blocks
//     (warp 0 of block 0)        (other warps of block 0)        (worker_loop)                (worker_loop)
//          |                          |                               |                            |
//     write command,                  |                               |                            |
//     store it in global memory       |                               |                            |
//     add_release(signal count) ------------------------------------------ if to all blocks -----> load_acquire
//          |=== __syncthreads ========|                               |                            |
//          |=== cluster barrier, if the command is not to block 0 alone ==|                        |
//          |                          |                          copy command                 copy command
//     run_task                   run_task                        run_task                     run_task
//          |=== barrier of the team that carries out the command ==========================================|
//          |=== __syncthreads ========|                               |                            |
//     read counts                wait for a command              wait for a command           wait for a command
//
// Dispatch is one-way: the coordinator waits for no acknowledgement before a task begins. The other blocks of block 0's
// cluster wait for a command at the cluster's barrier, which is cheap. The remaining blocks wait until the count of
// commands to all blocks changes.
#pragma once
#include "core/control/tasks.cuh"

// Copies between shared and global memory, past L1, by one warp.
template <class T>
__device__ void copy_words(T* to, const T* from) {
    const uint32* words = reinterpret_cast<const uint32*>(from);
    for (uint32 k = lane_index(); k < sizeof(T) / 4; k += kWarp) reinterpret_cast<uint32*>(to)[k] = __ldcg(words + k);
}
template <class T>
__device__ void store_words(T* to, const T& from) {
    const uint32* words = reinterpret_cast<const uint32*>(&from);
    for (uint32 k = lane_index(); k < sizeof(T) / 4; k += kWarp) __stcg(reinterpret_cast<uint32*>(to) + k, words[k]);
}

// The number of commands dispatched to all blocks so far.
__device__ inline uint32* signal_count() { return shared().state.barrier + 2 * kLine; }
// Called by the coordinator's warp: signals the other blocks if the command in the control block is to all of them.
__device__ inline void signal_workers() {
    __syncwarp();
    if (lane_index() == 0 && shared().control.command.blocks == gridDim.x) add_release(signal_count(), 1);
    __syncwarp();
}
// All threads of a block call it. `answered`: number of signals answered so far.
__device__ inline void wait_for_signal(uint32 answered) {
    if (threadIdx.x == 0) {
        while (load_acquire(signal_count()) == answered) {
        }
    }
    __syncthreads();
}

// Executes the command in the control block. The threads of block 0 call it; the worker loops of the other blocks
// execute the same command.
__device__ inline void execute_command() {
    State& state = shared().state;
    const Command& command = shared().control.command;
    const Team team{state, shared().control.counts, command.wide, command.blocks};
    const bool wide = command.wide;
    if (wide) middle_barrier(state.barrier + kLine);
    run_task();
    if (wide) team.sync();
}

// The loop of the other warps of block 0. One thread polls the host channel.
__device__ void helper_loop() {
    for (uint32 commands = 1;; ++commands) {
        __syncthreads();
        if (shared().control.command.task == Task::finish) break;
        if (threadIdx.x == kWarp && commands % Tuning::commands_between_polls == 0)
            shared().control.signals.poll(commands);
        execute_command();
        __syncthreads();
    }
    middle_barrier(shared().state.barrier + kLine);
}
// The loop of the other blocks.
__device__ void worker_loop() {
    State& state = shared().state;
    const Command& command = shared().control.command;
    const bool first = blockIdx.x < middle_blocks();
    for (uint32 answered = 0;; ++answered) {
        if (first)
            middle_barrier(state.barrier + kLine);
        else
            wait_for_signal(answered);
        if (threadIdx.x < kWarp) copy_words(&shared().control.command, state.command);
        __syncthreads();
        if (command.task == Task::finish) return;
        run_task();
        Team{state, shared().control.counts, true, command.blocks}.sync();
    }
}

// Called by the coordinator's warp: dispatches the command in the control block.
LAPWING_NOINLINE __device__ void dispatch() {
    State& state = shared().state;
    ControlBlock& control = shared().control;
    const bool wide = control.command.wide;
    if (wide) {
        store_words(state.counts, control.counts);
        store_words(state.command, control.command);
        signal_workers();
    }
    __syncthreads();
    execute_command();
    __syncthreads();
    if (wide) copy_words(&control.counts, state.counts);
    __syncwarp();
}
