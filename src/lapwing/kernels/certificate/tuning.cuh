// The tuning numbers of the certificate's passes over a matrix, and by tiles. gpu/certificate/passes.py reads them from
// this file (gpu/runtime/tuning.py), so each is a plain integer.
#pragma once
#include "common/common.cuh"

struct CertificateTuning {
    static constexpr uint32 load_bytes = 16;    // per lane, if costs are aligned and contiguous
    static constexpr uint32 in_flight = 4;      // loads per thread; the thread's number of lines is a multiple of it
    static constexpr uint32 most_lines = 32;    // per thread; one bit each marks the lines with undecided pairs
    static constexpr uint32 strided_width = 4;  // costs per thread in a line that is not contiguous
    // A pass by tiles (certificate/point_tiles.cuh):
    static constexpr uint32 square = 16;          // threads along a side
    static constexpr uint32 own_line_bytes = 32;  // per thread: the coordinates of its lines in one dimension
    static constexpr uint32 own_positions = 8;    // per thread
    static constexpr uint32 slice = 8;            // dimensions in shared memory at one time
};
