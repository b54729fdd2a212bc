// The loops that carry out commands: the helper loop of block 0, the worker loop of the other blocks, and dispatch.
//
// Protocol: see the diagram in core/control/coordinator.cuh. The other blocks of block 0's cluster wait for a command
// at the cluster's barrier, which takes little; the remaining blocks wait for the count of commands to all blocks.
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

// The blocks of an order wait for it: the first of them at their own barrier, which takes little, the others for the
// count of commands to all blocks. Dispatch is one-way: no waiting block is waited for.
__device__ inline uint32* signal_count() { return shared().state.barrier + 2 * kLine; }
// By the coordinator's warp: calls the others, if the command in the control block is to all.
__device__ inline void signal_workers() {
    __syncwarp();
    if (lane_index() == 0 && shared().control.command.blocks == gridDim.x) add_release(signal_count(), 1);
    __syncwarp();
}
// All threads of a block call it; `answered` calls came before.
__device__ inline void wait_for_signal(uint32 answered) {
    if (threadIdx.x == 0) {
        while (load_acquire(signal_count()) == answered) {
        }
    }
    __syncthreads();
}

// The command in the control block, by the threads of block 0 that call it, and the other blocks that it names.
__device__ inline void execute_command() {
    State& state = shared().state;
    const Command& command = shared().control.command;
    const Team team{state, shared().control.counts, command.wide, command.blocks};
    const bool wide = command.wide;
    if (wide) middle_barrier(state.barrier + kLine);
    run_task();
    if (wide) team.sync();
}

// The other warps of block 0; one thread polls the host's channel.
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
// The other blocks.
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

// By the coordinator's warp: dispatches the command in the control block.
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
