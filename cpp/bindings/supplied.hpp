// Rows of costs that a Python function supplies, as a source of the core.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <span>
#include <stdexcept>

#include "common.hpp"
#include "lapwing/costs/rows.hpp"

namespace lapwing::bindings {

// Calls supply(begin, end), which returns a matrix of these rows in the dtype of the costs; lapwing.costs.rows sees to
// that.
template <class T>
typename RowsSource<T>::Supply copied_from(nb::handle callable, Index cols) {
    return [callable, cols](Index begin, Index end, T* const* to) {
        const GilAcquire gil;
        const nb::object rows = call(callable, begin, end);
        const auto block = nb::cast<nb::ndarray<nb::ro, const T, nb::ndim<2>, nb::device::cpu>>(rows);
        if (block.shape(0) != static_cast<std::size_t>(end - begin) || block.shape(1) != static_cast<std::size_t>(cols))
            throw std::invalid_argument("a block of rows of another shape");
        const Computing computing;
        const T* from = block.data();
        for (Index i = 0; i < end - begin; ++i, from += block.stride(0)) {
            if (block.stride(1) == 1)
                std::copy_n(from, cols, to[i]);
            else
                for (Index j = 0; j < cols; ++j) to[i][j] = from[j * block.stride(1)];
        }
    };
}

// Calls supply.pairs(rows, cols), which returns a contiguous vector, if there is such a method.
template <class T>
typename RowsSource<T>::Pairs pairs_from(nb::handle supply) {
    if (!nb::hasattr(supply, "pairs")) return {};
    return [supply](std::span<const Index> rows, std::span<const Index> cols, T* out) {
        const GilAcquire gil;
        const auto lines = [](std::span<const Index> of) {
            return nb::ndarray<nb::numpy, const Index, nb::ndim<1>>(of.data(), {of.size()}, nb::handle()).cast();
        };
        const nb::object costs = call(supply.attr("pairs"), lines(rows), lines(cols));
        const auto given = nb::cast<nb::ndarray<nb::ro, const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(costs);
        if (given.shape(0) != rows.size()) throw std::invalid_argument("costs of another number of pairs");
        std::copy_n(given.data(), rows.size(), out);
    };
}

// The garbage collector knows `supply`, the object behind `read`, and keeps it as long as the source.
template <class T>
std::shared_ptr<RowsSource<T>> supplied_rows(Index rows, Index cols, std::size_t cache_bytes,
                                             typename RowsSource<T>::Supply read, nb::handle supply) {
    return std::make_shared<RowsSource<T>>(
        rows, cols, cache_bytes, std::move(read), [] { look_for_signals(); }, pairs_from<T>(supply));
}
template <class T>
Source supplied(Index rows, Index cols, std::size_t cache_bytes, typename RowsSource<T>::Supply read,
                nb::object supply) {
    auto costs = supplied_rows<T>(rows, cols, cache_bytes, std::move(read), supply);
    auto counters = [costs] { return costs->counters(); };
    return {rows, cols, std::move(costs), std::move(counters), std::move(supply)};
}

}  // namespace lapwing::bindings
