// The certificate on the GPU (certificate/certificate.cu), for computed costs.
#include "costs/computed.cuh"

#include "certificate/boxes.cuh"
#include "certificate/computed.cuh"
#include "certificate/vectors.cuh"
