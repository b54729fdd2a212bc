// All primitives that kernels share, in plain CUDA C++17 without any header of the toolkit, so that NVRTC needs no
// other file.
//
// Programs are compiled without contraction to fused multiply-add (gpu/runtime/compile.py): `c - u - v` has the same
// bits everywhere.
#pragma once
#include "common/block.cuh"
#include "common/cluster.cuh"
#include "common/grid.cuh"
#include "common/numbers.cuh"
#include "common/ptx.cuh"
#include "common/warp.cuh"
