#include "lapwing/costs/points.hpp"

#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "lapwing/costs/boxes.hpp"
#include "lapwing/costs/spatial_order.hpp"

#define LAPWING_TARGET_INCLUDE "lapwing/costs/points.inc.hpp"
#include "lapwing/simd/foreach_target.hpp"

namespace lapwing {

std::optional<Metric> metric_named(std::string_view name) {
#define LAPWING_METRIC(known) \
    if (name == #known) return Metric::known;
    FOR_EACH_METRIC(LAPWING_METRIC)
#undef LAPWING_METRIC
    return {};
}

template <class T>
void PointCosts<T>::add(Metric metric, Index dims, const T* x, const T* y, T weight, T power, T limit, T beyond) {
    Coordinates copy{{x, x + std::size_t(rows_) * dims}, std::vector<T>(std::size_t(dims) * stride())};
    for (Index j = 0; j < cols_; ++j)
        for (Index k = 0; k < dims; ++k) copy.y[k * stride() + j] = y[std::size_t(j) * dims + k];
    add({metric, dims, nullptr, nullptr, stride(), weight, power, limit, beyond}, std::move(copy));
}

template <class T>
void PointCosts<T>::add(PointTerm<T> term, Coordinates&& coordinates) {
    term.x = coordinates.x.data();  // vectors keep their memory when they are moved
    term.y = coordinates.y.data();
    term.stride = stride();
    coordinates_.push_back(std::move(coordinates));
    terms_.push_back(term);
}

template <class T>
void PointCosts<T>::read(Index i, Index first, Index count, T* out) const {
    LAPWING_DISPATCH(compute_row, terms_.data(), static_cast<Index>(terms_.size()), i, first, count, out);
}

template <class T>
bool PointCosts<T>::has_many_dims() const {
    constexpr Index kMany = 16;  // of fewer, points of a row of costs are soon there
    Index dims = 0;
    for (const PointTerm<T>& term : terms_) dims += term.dims;
    return dims >= kMany;
}

template <class T>
void PointCosts<T>::read_block(Index begin, Index end, Index first, Index count, T* out, std::ptrdiff_t stride) const {
    if (!has_many_dims() || end - begin == 1) return CostSource<T>::read_block(begin, end, first, count, out, stride);
    const auto scratch = std::make_unique_for_overwrite<PointScratch<T>>();
    for (Index i = begin; i < end; i += kPointBlock.rows)
        for (Index j = 0; j < count; j += kPointBlock.cols)
            LAPWING_DISPATCH(compute_rows, terms_.data(), static_cast<Index>(terms_.size()), i,
                             std::min(kPointBlock.rows, end - i), first + j, std::min(kPointBlock.cols, count - j),
                             out + (i - begin) * stride + j, stride, *scratch);
}

template <class T>
std::unique_ptr<PointCosts<T>> PointCosts<T>::chosen(std::span<const Index> rows, std::span<const Index> cols) const {
    auto chosen = std::make_unique<PointCosts>(static_cast<Index>(rows.size()), static_cast<Index>(cols.size()));
    for (const PointTerm<T>& term : terms_) {
        Coordinates copy;
        copy.x.reserve(rows.size() * term.dims);
        for (const Index i : rows) {
            const T* x = term.x + std::ptrdiff_t{i} * term.dims;
            copy.x.insert(copy.x.end(), x, x + term.dims);
        }
        copy.y.resize(std::size_t(term.dims) * chosen->stride());
        for (Index k = 0; k < term.dims; ++k)
            for (std::size_t b = 0; b < cols.size(); ++b)
                copy.y[k * chosen->stride() + b] = term.y[k * term.stride + cols[b]];
        chosen->add(term, std::move(copy));
    }
    return chosen;
}

template <class T>
std::unique_ptr<CostSource<T>> PointCosts<T>::part(std::span<const Index> rows, std::span<const Index> cols) const {
    auto part = chosen(rows, cols);
    if (is_in_order_) part->make_boxes();  // what is left of an order is one
    return part;
}

template <class T>
std::vector<Index> PointCosts<T>::equal_lines(bool rows, Index most) const {
    std::vector<Index> sets(static_cast<std::size_t>(rows ? rows_ : cols_));
    std::unordered_map<std::string, Index> known;  // by the bytes of all coordinates
    std::string point;
    for (std::size_t line = 0; line < sets.size(); ++line) {
        point.clear();
        for (const PointTerm<T>& term : terms_)
            for (Index k = 0; k < term.dims; ++k) {
                const T& x = rows ? term.x[line * term.dims + k] : term.y[k * term.stride + line];
                point.append(reinterpret_cast<const char*>(&x), sizeof x);
            }
        sets[line] = known.try_emplace(point, static_cast<Index>(known.size())).first->second;
        if (static_cast<Index>(known.size()) > most) return {};
    }
    return sets;
}

template <class T>
std::unique_ptr<CostSource<T>> PointCosts<T>::in_boxes(std::span<const Index> rows, std::span<const Index> cols) const {
    auto same = chosen(rows, cols);
    same->make_boxes();
    if (same->boxes_ == nullptr) return nullptr;
    return same;
}

template <class T>
std::unique_ptr<CostSource<T>> PointCosts<T>::turned(std::span<const Index> rows) const {
    if (boxes_ == nullptr) return nullptr;
    auto turned = std::make_unique<PointCosts>(cols_, static_cast<Index>(rows.size()));
    for (const PointTerm<T>& term : terms_) {
        Coordinates copy;
        copy.x.resize(std::size_t(term.dims) * cols_);
        copy.y.resize(std::size_t(term.dims) * turned->stride());
        for (Index k = 0; k < term.dims; ++k) {
            for (Index j = 0; j < cols_; ++j) copy.x[std::size_t(j) * term.dims + k] = term.y[k * term.stride + j];
            for (std::size_t a = 0; a < rows.size(); ++a)
                copy.y[k * turned->stride() + a] = term.x[std::ptrdiff_t{rows[a]} * term.dims + k];
        }
        turned->add(term, std::move(copy));
    }
    turned->make_boxes();
    if (turned->boxes_ == nullptr) return nullptr;
    return turned;
}

template <class T>
void PointCosts<T>::make_boxes() {
    is_in_order_ = true;
    boxes_ = make_point_boxes<T>(rows_, cols_, terms_);
}

template <class T>
std::vector<std::int32_t> PointCosts<T>::in_order(bool rows, Index group, Team& team,
                                                  const std::function<void()>& poll) const {
    constexpr Index kMostDims = 8;  // of more, no order brings neighbours together
    std::vector<std::pair<const PointTerm<T>*, Index>> dims;
    for (const PointTerm<T>& term : terms_)
        for (Index k = 0; k < term.dims; ++k) dims.push_back({&term, k});
    if (static_cast<Index>(dims.size()) > kMostDims) return {};
    const Index count = rows ? rows_ : cols_;
    if (is_in_order_) {
        std::vector<std::int32_t> as_it_is(count);
        std::iota(as_it_is.begin(), as_it_is.end(), 0);
        return as_it_is;
    }
    const auto read = [&](Index d, Index begin, Index end, float* out) {
        const auto& [term, k] = dims[d];
        const T* const from = rows ? term->x + k : term->y + k * term->stride;
        const std::ptrdiff_t step = rows ? term->dims : 1;
        for (Index i = begin; i < end; ++i) out[i - begin] = static_cast<float>(from[i * step] * term->weight);
    };
    return spatial_order(count, static_cast<Index>(dims.size()), read, group, team, poll);
}

template class PointCosts<float>;
template class PointCosts<double>;

}  // namespace lapwing
