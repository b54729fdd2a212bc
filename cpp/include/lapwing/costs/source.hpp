// Where costs come from: a matrix that is read in place, or a source that makes rows on request.
//
// The core method sees costs as whole rows (RowReader), as single pairs (at_pair) and, where a source has boxes, as the
// columns of a row that are near (ColumnBoxes); the certificate as pieces of rows. So all sources share their code, and
// a matrix with contiguous rows is never copied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lapwing/costs/open_boxes.hpp"
#include "lapwing/costs/owners.hpp"
#include "lapwing/team.hpp"
#include "lapwing/threads.hpp"
#include "lapwing/types.hpp"

namespace lapwing {

// A column, its cost as it is given, and c - v as it is minimised.
template <class T>
struct NearColumn {
    Dual<T> value;
    Index col;
    T cost;
};

// The highest price in each box, of the prices of its columns or of any that were not below these. Where prices are
// tilted (costs/boxes.hpp), also their slopes in each box, and how far they rise above these.
template <class T>
struct BoxPrices {
    std::vector<Dual<T>> highest{};
    std::vector<double> slopes{}, rises{};
    bool are_tilted = false;
};

// Which columns of a row are wanted, under prices v [cols].
template <class T>
struct NearQuery {
    Index row;
    bool maximize;
    const Dual<T>* v;
    const BoxPrices<T>* prices;   // what take_prices found for these prices or for any that were higher
    Index most;                   // how many at most, at least 1
    const Index* open = nullptr;  // of OpenBoxes: boxes without an open column are left out
    BoxReach* reach = nullptr;    // columns are wanted only if base + c - v is nearer, which is then their distance
    double base = 0;
};

// Boxes are judged by some rows.
struct BoxTuning {
    static constexpr Index kTrials = 16;         // so many,
    static constexpr double kWorthwhile = 0.25;  // and are of no use if more of all costs were computed,
    static constexpr double kHopeless = 0.75;    // or this part later on, when rows are read that are the hardest
    static constexpr double kNear = 512;         // costs a row: if more were computed, prices are taken tilted ...
    static constexpr double kSpared = 0.75;      // ... for good if no more than this part is computed then
};

// Finds the columns of a row whose c - v is least, without computing the others: they are in boxes (costs/boxes.hpp).
template <class T>
class ColumnBoxes {
  public:
    virtual ~ColumnBoxes() = default;
    // Whether prices may be taken tilted.
    virtual bool can_tilt() const = 0;
    // With all columns open.
    virtual OpenBoxes open_boxes() const = 0;
    // Fills prices for v, tilted if `are_tilted` is set.
    virtual void take_prices(const Dual<T>* v, BoxPrices<T>& prices) const = 0;
    // Replaces `found` by the allowed columns with c - v <= limit. Of more than `most` the least remain, and limit
    // falls: no column left out has less than limit on return. Returns how many costs were computed.
    virtual Index nearest(const NearQuery<T>& query, Dual<T>& limit, std::vector<NearColumn<T>>& found) const = 0;
};

// Costs that are not stored in a matrix. A pair has the same cost, to the last bit, whichever piece of its row it is
// read with and how often: the proof of an answer rests on that. Every function may be called from several threads at
// once.
template <class T>
class CostSource {
  public:
    virtual ~CostSource() = default;
    // Writes `count` costs of row i, from column `first` on, to out[count].
    virtual void read(Index i, Index first, Index count, T* out) const = 0;
    // The same of rows begin .. end - 1; out[stride] is the first cost of the second one.
    virtual void read_block(Index begin, Index end, Index first, Index count, T* out, std::ptrdiff_t stride) const {
        for (Index i = begin; i < end; ++i, out += stride) read(i, first, count, out);
    }
    // out[k] = the cost of rows[k] and cols[k].
    virtual void read_pairs(std::span<const Index> rows, std::span<const Index> cols, T* out) const {
        for (std::size_t k = 0; k < rows.size(); ++k) read(rows[k], cols[k], 1, out + k);
    }
    // The problem of some rows and columns, in this order, as a source of its own. Null: their costs are to be copied.
    virtual std::unique_ptr<CostSource<T>> part(std::span<const Index>, std::span<const Index>) const {
        return nullptr;
    }
    virtual bool has_parts() const { return false; }
    // The same with rows and columns in the order of in_order, which helps to find near columns. Null: no use.
    virtual std::unique_ptr<CostSource<T>> in_boxes(std::span<const Index>, std::span<const Index>) const {
        return nullptr;
    }
    // Whether rows and columns lie in such an order.
    virtual bool is_in_order() const { return false; }
    // Null: every cost of a row is to be computed. Of a part the boxes are those of its own columns.
    virtual const ColumnBoxes<T>* boxes() const { return nullptr; }
    // These rows as columns, and all columns as rows, if there are boxes.
    virtual std::unique_ptr<CostSource<T>> turned(std::span<const Index>) const { return nullptr; }
    // All rows, or all columns, ordered so that consecutive ones are similar; empty if no such order is known. `group`,
    // `team` and `poll`: see spatial_order.
    virtual std::vector<std::int32_t> in_order(bool /*rows*/, Index /*group*/, Team& /*team*/,
                                               const std::function<void()>& /*poll*/) const {
        return {};
    }
    // Of each row, or of each column, the number of its set: lines of a set cost the same everywhere. Sets are counted
    // from 0 on, in the order of their first lines. Empty: there are more than `most`, or none is known.
    virtual std::vector<Index> equal_lines(bool /*rows*/, Index /*most*/) const { return {}; }
    // How many rows are best made together; fetch announces that these rows are read next.
    virtual Index rows_at_once() const { return 1; }
    virtual void fetch(Index /*begin*/, Index /*end*/) const {}
    // Those who hold the rows, where these are other processes.
    virtual const RowOwners<T>* owners() const { return nullptr; }
};

// The cost of any pair of any problem, as it is given.
template <class T>
T at_pair(const MatrixView<T>& cost, const CostSource<T>* source, Index i, Index j) {
    if (source == nullptr) return cost.at(i, j);
    T given;
    source->read(i, j, 1, &given);
    return given;
}

// ... and as it is minimised.
template <class T>
Dual<T> at_pair(const Problem<T>& problem, Index i, Index j) {
    return problem.minimised(at_pair(problem.cost, problem.source, i, j));
}

// Rows as contiguous memory, for one thread; copies rows only where a matrix has them strided: of those that are
// expected several at once, whose costs share lines of the cache.
template <class T>
class RowReader {
  public:
    explicit RowReader(const MatrixView<T>& cost, const CostSource<T>* source)
        : cost_(cost), source_(source), copy_(source == nullptr && cost.col_stride == 1 ? 0 : cost.cols) {}

    // Rows begin .. end - 1 are read next, in this order.
    void expect(Index begin, Index end) { expected_ = begin, expected_end_ = end; }

    // As it is given, valid until the next call.
    const T* row(Index i) {
        if (source_ != nullptr) {
            if (i == expected_ && i < expected_end_) {
                expected_ = std::min(i + source_->rows_at_once(), expected_end_);
                source_->fetch(i, expected_);
            }
            source_->read(i, 0, cost_.cols, copy_.data());
            return copy_.data();
        }
        if (cost_.col_stride == 1) return cost_.row(i);
        if (i < held_ || i >= held_end_) copy_from(i);
        return copy_.data() + static_cast<std::size_t>(i - held_) * static_cast<std::size_t>(cost_.cols);
    }

    // Where row i lies, if in memory and contiguous; else null.
    const T* place_of(Index i) const { return source_ == nullptr && cost_.col_stride == 1 ? cost_.row(i) : nullptr; }

  private:
    void copy_from(Index i) {
        held_ = i, held_end_ = i + 1;
        if (i == expected_ && i < expected_end_) expected_ = held_end_ = std::min(i + kTogether, expected_end_);
        const Index count = held_end_ - held_;
        const auto cols = static_cast<std::size_t>(cost_.cols);
        copy_.resize(std::max(copy_.size(), static_cast<std::size_t>(count) * cols));
        for (Index j = 0; j < cost_.cols; ++j) {
            __builtin_prefetch(cost_.row(i) + std::min(j + kAhead, cost_.cols - 1) * cost_.col_stride, 0, 1);
            for (Index k = 0; k < count; ++k)
                copy_[static_cast<std::size_t>(k) * cols + static_cast<std::size_t>(j)] = cost_.at(i + k, j);
        }
    }

    static constexpr Index kTogether = 64 / sizeof(T), kAhead = 32;  // columns: strides are not prefetched otherwise
    MatrixView<T> cost_;
    const CostSource<T>* source_;
    std::vector<T> copy_;
    Index expected_ = 0, expected_end_ = 0;  // rows that are read soon and have not been made yet
    Index held_ = 0, held_end_ = 0;          // rows of a strided matrix that are in copy_
};

}  // namespace lapwing
