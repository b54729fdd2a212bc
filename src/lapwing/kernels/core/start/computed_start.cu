// Prices to start from (core/start/start.cu), of computed costs.
#include "costs/computed.cuh"

#include "core/start/computed.cuh"
#include "core/start/unmatched.cuh"
