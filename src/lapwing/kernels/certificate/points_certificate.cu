// The certificate on the GPU (certificate/certificate.cu), for costs of points of many dimensions.
#include "costs/computed.cuh"

#include "certificate/point_tiles.cuh"
#include "certificate/vectors.cuh"
