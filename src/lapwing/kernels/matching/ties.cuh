// Ties at the price of staying free: among all optimal answers, one with the most matched rows.
//
// Problem. An optimal answer uses tight pairs alone (cost = u + v), and every line whose dual is below the price of
// staying free is matched in all of them. So augmenting paths of tight pairs from free rows to free columns, which keep
// matched lines matched, lead from any optimal answer to one with the most pairs (cpp/include/lapwing/matching/ties.hpp
// does the same on a CPU).
// Method. Passes of a breadth-first search from all free rows at once, whose trees share no line. A step reaches the
// columns of tight pairs of the rows that the last one reached; the lowest row keeps a column. The first step that
// reaches free columns ends the search, and each tree that has one augments along one path. No path, no further pass.
// Floats. Duals are rounded, so pairs that are tight up to rounding are followed, and a path is used if it costs no
// more than what it replaces, summed in twice the digits. A row whose path costs more is left as it is.
// Cost. A step: the tight pairs of some rows, a pass over the columns, two barriers of the team. Where no free row has
// a tight pair with a column, which is usual for floats, one step.
// Reference. Hopcroft and Karp, SIAM Journal on Computing 2, 1973.
//
// The result does not depend on the order of threads: claims are minima.
#pragma once
#include "common/common.cuh"

constexpr uint64 kNotReached = ~0ull;
constexpr int32 kNoEnd = 0x7fffffff;  // of a tree that has reached no free column
constexpr int32 kRefused = -1;        // of a free row whose path would cost more than staying free
constexpr int32 kNoTree = -1;

// The arrays of the search, in memory that the whole team sees.
struct TieSearch {
    uint64* reached;  // [cols]: the step that reached the column first, << 32, and the lowest row that did
    int32* tree;      // [rows]: the free row in whose tree the row is, or kNoTree
    int32* turn;      // [rows]: the step in which the row is at work, or kNoTree
    int32* end;       // [rows], by free row: the free column where its path ends, kNoEnd or kRefused
    uint32* votes;    // [3]
};

// A sum of floats in twice their digits.
template <class D>
struct Change {
    D high = 0, low = 0;
    __device__ void add(D x) {
        const D sum = high + x, part = sum - high;
        low += (high - (sum - part)) + (x - part);
        high = sum;
    }
    __device__ bool is_increase() const { return high + low > D(0); }
};

// Whether cost - v - u is 0, of floats up to their rounding.
__device__ inline bool is_nearly_tight(double cost, double v, double u) {
    const double room = 0x1p-50 * (fabs(cost) + fabs(u) + fabs(v));
    return cost - v - u <= room && cost < infinity<double>();
}
__device__ inline bool is_nearly_tight(int64 cost, int64 v, int64 u) {
    return cost < infinity<int64>() && cost - v <= u;
}

// By all threads of a team; the same for each of them. A Team has thread(), threads(), warp(), warps() and sync(). The
// Problem is that of all rows that may stay free, as minimised:
//   rows, cols
//   column_of(i), row_of(j)          the partner, below 0: none
//   match(i, j)                      sets both
//   cost(i, j), price(i)             of a pair, and of staying free
//   is_open(j)                       whether v is 0: the column may be free or matched
//   each_tight(i, visit)             by a warp: visit(j) for all columns with which row i is nearly tight
template <class Team, class Problem>
class TieMatcher {
  public:
    __device__ TieMatcher(const Team& team, const Problem& problem, const TieSearch& search)
        : team_(team), problem_(problem), s_(search) {}

    __device__ void run() {
        if (team_.thread() < 3) s_.votes[team_.thread()] = 0;
        team_.sync();
        for (bool first = true;; first = false) {
            plant(first);
            if (!search()) return;
            each(problem_.rows, [&](int32 i) {
                if (s_.end[i] != kNoEnd && s_.end[i] != kRefused) augment(i);
            });
            team_.sync();
        }
    }

  private:
    template <class Body>
    __device__ void each(int32 count, Body body) const {
        for (int64 k = team_.thread(); k < count; k += team_.threads()) body(static_cast<int32>(k));
    }
    // All bits that any thread gives, in every thread. Writes before it are seen after it.
    __device__ uint32 vote(uint32 mine) {
        uint32* const ballot = s_.votes + ballot_ % 3;
        if (mine != 0) atomicOr(ballot, mine);
        if (team_.thread() == 0) s_.votes[(ballot_ + 1) % 3] = 0;  // which all have read
        ++ballot_;
        team_.sync();
        return *ballot;
    }
    // A tree for each free row that may get a column.
    __device__ void plant(bool first) {
        each(problem_.cols, [&](int32 j) { s_.reached[j] = kNotReached; });
        each(problem_.rows, [&](int32 i) {
            const bool may = problem_.column_of(i) < 0 && (first || s_.end[i] != kRefused);
            s_.tree[i] = may ? i : kNoTree;
            s_.turn[i] = may ? 0 : kNoTree;
            if (first || s_.end[i] != kRefused) s_.end[i] = kNoEnd;
        });
        team_.sync();
    }
    // Whether a free column was reached.
    __device__ bool search() {
        for (uint32 step = 0;; ++step) {
            for (int64 base = int64{team_.warp()} * kWarp; base < problem_.rows; base += int64{team_.warps()} * kWarp) {
                const int64 mine = base + lane_index();
                const bool at_work = mine < problem_.rows && s_.turn[mine] == static_cast<int32>(step);
                for (uint32 left = __ballot_sync(kAllLanes, at_work); left != 0; left &= left - 1) {
                    const int32 i = static_cast<int32>(base) + __ffs(static_cast<int32>(left)) - 1;
                    const uint64 key = uint64{step} << 32 | static_cast<uint32>(i);
                    problem_.each_tight(i, [&](int32 j) { atomicMin(s_.reached + j, key); });
                }
            }
            team_.sync();
            constexpr uint32 kGoesOn = 1, kEnds = 2;
            uint32 found = 0;
            each(problem_.cols, [&](int32 j) {
                if (s_.reached[j] >> 32 != step) return;
                const int32 tree = s_.tree[row_reaching(j)], owner = problem_.row_of(j);
                if (owner >= 0) {
                    s_.tree[owner] = tree;
                    s_.turn[owner] = static_cast<int32>(step + 1);
                    found |= kGoesOn;
                } else if (problem_.is_open(j)) {
                    atomicMin(s_.end + tree, j);
                    found |= kEnds;
                }
            });
            found = vote(found);
            if (found != kGoesOn) return (found & kEnds) != 0;
        }
    }
    __device__ int32 row_reaching(int32 j) const { return static_cast<int32>(s_.reached[j] & 0xffffffffu); }

    // The path of a tree, from its end back to the free row.
    __device__ void augment(int32 root) {
        if constexpr (Dual(0.5) != Dual(0)) {
            Change<Dual> change;
            for (int32 j = s_.end[root]; j >= 0;) {
                const int32 i = row_reaching(j), before = problem_.column_of(i);
                change.add(problem_.cost(i, j));
                change.add(before < 0 ? -problem_.price(i) : -problem_.cost(i, before));
                j = before;
            }
            if (change.is_increase()) {
                s_.end[root] = kRefused;
                return;
            }
        }
        for (int32 j = s_.end[root]; j >= 0;) {
            const int32 i = row_reaching(j), before = problem_.column_of(i);
            problem_.match(i, j);
            j = before;
        }
    }

    const Team& team_;
    const Problem& problem_;
    const TieSearch s_;
    uint32 ballot_ = 0;
};
