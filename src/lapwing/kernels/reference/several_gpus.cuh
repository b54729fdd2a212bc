// Several GPUs of one host share out the columns of "ssp" (reference/ssp.cu): each has a block of them, with their
// costs and their state, and its cluster runs the same program. Letters carry what all must know: the least candidate
// of a scan, a sum, or only that a GPU is there. The matrix is square, and all rows are to be matched. It is the
// transpose of the one whose rows the GPUs share out.
//
// Protocol  A letter is a Message in 8 words, each with the number of its turn: so a GPU writes into the memory of
//           another and neither waits for a fence. A place is reused after two turns. By then its reader has read it:
//           it has sent a letter of the turn between, after a barrier of its cluster.
// Cost      A turn takes one write over the link and the poll that sees it, beside the barrier of the cluster.
//
// A lane that waits for a letter looks at the host's channel now and then: if the host requests a stop, the wait ends,
// and with it the solve. So a GPU that fails does not hold up the others for ever. The first look comes when any GPU
// that works has answered; otherwise some warps might give up a letter that others have read.
#pragma once
#include "core/control/host_channel.cuh"
#include "reference/full_rows.cuh"

namespace ssp {

constexpr uint32 kMostGpus = MOST_GPUS;

struct Letters {
    static constexpr uint32 kWords = 8;  // of a letter
    uint64 words[2][kMostGpus][kWords];  // of two turns, by sender
};
static_assert(sizeof(Letters) == LETTER_BYTES);

// The table of all GPUs, on each of them (gpu/reference/sharded_ssp.py writes it).
struct Peers {
    int64 count, self;
    int64 begin[kMostGpus + 1];      // the first column of each
    unsigned char* more[kMostGpus];  // its workspace of struct Ssp
    Report* report[kMostGpus];       // where its workspace of struct State begins
    Letters* letters[kMostGpus];     // that it reads; 0 at the start
    HostChannel* watch;
    Dual *u, *v;  // of the first GPU, for columns and rows: the answer is that of the transposed matrix
};

class Gpus {
  public:
    static constexpr bool several = true;
    static constexpr uint32 kWords = Letters::kWords;
    static constexpr uint32 kAtOnce = kWarp / kWords;  // letters that a warp sends or reads at once
    static constexpr uint32 kRounds = kMostGpus / kAtOnce;
    static_assert(kMostGpus % kAtOnce == 0);

    __device__ static Peers& peers() {
        __shared__ Peers memory;
        return memory;
    }
    // Called by all threads of a block, before all else.
    __device__ static void begin(const Peers* table) {
        static_assert(sizeof(Peers) % sizeof(uint64) == 0);
        for (uint32 k = threadIdx.x; k < sizeof(Peers) / sizeof(uint64); k += blockDim.x)
            reinterpret_cast<uint64*>(&peers())[k] = reinterpret_cast<const uint64*>(table)[k];
        __syncthreads();
    }

    // --- which columns are whose

    __device__ static bool is_first() { return peers().self == 0; }
    // The first column of this GPU.
    __device__ static int32 first() { return static_cast<int32>(peers().begin[peers().self]); }
    // Whether this GPU has column j.
    __device__ static bool has(int32 j) { return j >= first() && j < peers().begin[peers().self + 1]; }
    // The number of all columns, of which this GPU has `cols`.
    __device__ static int32 all_cols(int32 rows, int32) { return rows; }
    __device__ static bool has_sink(const Matrix&) { return false; }
    // Where the answer goes. The workspaces of all GPUs are laid out alike.
    template <class Answer>
    __device__ static Answer answer(const State& core) {
        const auto of_first = [&](int32* own) {
            const auto bytes = reinterpret_cast<unsigned char*>(own) - reinterpret_cast<unsigned char*>(core.report);
            return reinterpret_cast<int32*>(reinterpret_cast<unsigned char*>(peers().report[0]) + bytes);
        };
        return {peers().v, peers().u, of_first(core.col_to_row), of_first(core.row_to_col)};
    }
    // An address in another GPU's workspace, of what this one has at `own`.
    template <class T>
    __device__ static T* theirs(uint32 gpu, T* own) {
        auto* bytes = reinterpret_cast<unsigned char*>(own);
        return reinterpret_cast<T*>(peers().more[gpu] + (bytes - peers().more[peers().self]));
    }
    // The least cost of a row among this GPU's columns; join_surveys takes the least of all.
    template <class Ssp>
    __device__ static void note_least(const Ssp& s, int32 i, Dual least) {
        __stcg(s.regret + i, least);
    }

    // --- letters: called by all warps of the cluster

    __device__ Gpus() : count_(peers().count), self_(peers().self), own_(peers().letters[self_]) {
#pragma unroll
        for (uint32 r = 0; r < kRounds; ++r) to_[r] = is_other(r) ? peers().letters[gpu_of(r)] : nullptr;
    }
    // The least of all GPUs' messages. `stopped` is what each says of it, and then true if it was anywhere.
    template <class Message>
    __device__ Message least(Message mine, bool& stopped) {
        mine.stop = stopped ? 1 : 0;
        Message best = mine;
        exchange(mine, stopped, [&](const Message& letter) {
            stopped = stopped || letter.stop != 0;
            if (letter.is_before(best)) best = letter;
        });
        return best;
    }
    // The sum of all GPUs' numbers, in their order.
    template <class Message>
    __device__ double sum(double mine, bool& stopped) {
        Message letter = {};
        memcpy(&letter.key, &mine, sizeof mine);
        double total = 0;
        exchange(letter, stopped, [&](const Message& other) {
            double number;
            memcpy(&number, &other.key, sizeof number);
            total += number;
        });
        return total;
    }
    // Waits for all GPUs. What they wrote is there.
    template <class Message>
    __device__ void meet(bool& stopped) {
        __threadfence_system();
        exchange(Message{}, stopped, [](const Message&) {});
        __threadfence_system();
    }

  private:
    // The GPU whose letter this lane reads and to which it writes, and whether it is there, and another.
    __device__ static uint32 gpu_of(uint32 round) { return round * kAtOnce + lane_index() / kWords; }
    __device__ bool is_other(uint32 round) const { return gpu_of(round) < count_ && gpu_of(round) != self_; }

    // Sends a message to all others, and calls visit() for that of every GPU, in their order.
    template <class Message, class Visit>
    __device__ void exchange(const Message& mine, bool& stopped, Visit visit) {
        static_assert(sizeof(Message) == kWords * sizeof(uint32));
        if (lost_) return;
        const uint32 turn = ++turn_, word = lane_index() % kWords;
        uint32 words[kWords], own = 0;
        memcpy(words, &mine, sizeof mine);
#pragma unroll
        for (uint32 k = 0; k < kWords; ++k) own = word == k ? words[k] : own;
        uint32 heard[kRounds];
#pragma unroll
        for (uint32 r = 0; r < kRounds; ++r) {
            if (is_other(r) && blockIdx.x == 0 && threadIdx.x < kWarp)
                store_to_gpus(&to_[r]->words[turn % 2][self_][word], static_cast<uint64>(turn) << 32 | own);
        }
#pragma unroll
        for (uint32 r = 0; r < kRounds; ++r) heard[r] = is_other(r) ? wait_for(r, turn) : own;
        lost_ = __any_sync(kAllLanes, lost_) != 0;
        if (lost_) {
            stopped = true;
            return;
        }
#pragma unroll
        for (uint32 gpu = 0; gpu < kMostGpus; ++gpu) {
            if (gpu >= count_) break;
#pragma unroll
            for (uint32 k = 0; k < kWords; ++k)
                words[k] = __shfl_sync(kAllLanes, heard[gpu / kAtOnce], static_cast<int>(gpu % kAtOnce * kWords + k));
            Message letter;
            memcpy(&letter, words, sizeof letter);
            visit(letter);
        }
    }
    // This lane's word of the letter of a turn.
    __device__ uint32 wait_for(uint32 round, uint32 turn) {
        const uint64* from = &own_->words[turn % 2][gpu_of(round)][lane_index() % kWords];
        for (uint32 polls = 1;; ++polls) {
            const uint64 word = load_from_gpus(from);
            if (word >> 32 == turn) return static_cast<uint32>(word);
            lost_ = polls % kPollsBetweenLooks == 0 && __ldcg(&peers().watch->stop) != 0;
            if (lost_) return 0;
        }
    }

    const uint32 count_, self_;
    const Letters* const own_;
    Letters* to_[kRounds];
    uint32 turn_ = 0;
    bool lost_ = false;  // the wait for a letter was given up
};

}  // namespace ssp
