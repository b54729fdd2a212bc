// The certificate on the GPU (certificate/certificate.cu), for sparse costs.
#include "costs/sparse.cuh"

#include "certificate/sparse.cuh"
#include "certificate/vectors.cuh"
