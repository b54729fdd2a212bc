// Method "ssp" (reference/ssp.cu) with its columns shared out among several GPUs of one host, as Algorithm 1015 has it:
// all GPUs scan a row, each its own columns, and agree on the nearest (reference/several_gpus.cuh).
//
// The matrix is that of this GPU's columns. Duals and pairs are written to the first GPU, those of rows by the GPU of
// their column. Sums over columns are of sums by GPU: epsilons may differ from those of one GPU in their last bits.
// Launch the first kernel on every GPU; the second on every GPU after the first has ended on all.
#include "costs/matrix.cuh"

#include "reference/several_gpus.cuh"

#include "reference/ssp_search.cuh"

namespace ssp {

// Takes over what the surveys of other GPUs found, which may read this while it changes: minima stay what they are.
__device__ inline void join_surveys() {
    Ssp& s = self();
    const Peers& peers = Gpus::peers();
    const auto count = static_cast<uint32>(peers.count);
    Report& report = *s.core.report;
    each(s.core.matrix.rows, [&](uint32 i) {
        Dual least = infinity<Dual>();
        for (uint32 gpu = 0; gpu < count; ++gpu) {
            const Dual found = __ldcg(Gpus::theirs(gpu, s.regret) + i);
            least = found < least ? found : least;
            if (gpu != peers.self && i >= peers.begin[gpu] && i < peers.begin[gpu + 1])
                __stcg(s.diagonal + i, __ldcg(Gpus::theirs(gpu, s.diagonal) + i));
        }
        if (is_far(least)) atomicMin(&report.empty_row, static_cast<int64>(i));
        __stcg(s.row_least + i, is_far(least) ? Dual(0) : least);
    });
    if (is_first_thread()) {
        for (uint32 gpu = 0; gpu < count; ++gpu) {
            const Board& board = *Gpus::theirs(gpu, s.board);
            min_in_global(&s.board->least, __ldcg(&board.least));
            max_in_global(&s.board->greatest, __ldcg(&board.greatest));
            atomicMin(&report.invalid_row, __ldcg(&peers.report[gpu]->invalid_row));
        }
    }
    barrier();
}

}  // namespace ssp

extern "C" __global__ void __launch_bounds__(THREADS, 1) survey_ssp(LAPWING_SSP, const ssp::Peers* peers) {
    ssp::Gpus::begin(peers);
    LAPWING_SET_SSP;
    ssp::survey();
}
// Without rows it does nothing but to be loaded.
extern "C" __global__ void __launch_bounds__(ssp::kSearchThreads, 1)
    solve_ssp(LAPWING_SSP, int64 from, unsigned char* far_columns, const ssp::Peers* peers) {
    if (blockIdx.x >= ssp::blocks() || rows == 0) return;
    ssp::Gpus::begin(peers);
    LAPWING_SET_SSP;
    ssp::set_columns(far_columns);
    ssp::join_surveys();
    ssp::Search().solve(static_cast<ssp::Prices>(from));
}
