// The macros that gpu/runtime/programs.py passes to the programs of kernels/reference; a test may choose other numbers.
#pragma once

#define CHUNK_BYTES 4096
#define BOARD_BYTES 4608
#define TIGHT 32
#define FOREST_ROW_BYTES (4 * TIGHT + 40)
#define FOREST_COL_BYTES 28
#define TASK_BEGIN 0
#define TASK_DONE 19
#define STAGE_REDUCTIONS 1
#define STAGE_FUSED 2
#define STAGE_ONE_LAUNCH 4
#define STAGE_REGISTERS 8
#define STAGE_BARRIER 16
#define START_BY_REGRET 32
#define SEARCH_BLOCKS 8
#define SEARCH_THREADS 256
#define NEAR_STEPS 8
#define NEAR_BYTES 20480
#define STATIC_BYTES 2048
#define SSP_ROW_BYTES 32
#define SSP_COL_BYTES 16
#define COLUMN_BYTES 28
#define PRICES_ZERO 0
#define PRICES_ESTIMATED 1
#define PRICES_GIVEN 2
