// Supplied rows: the cache's policies, and a source that stays right whatever it holds and whatever its function
// throws.
#include "lapwing/costs/rows.hpp"

#include <array>
#include <map>
#include <random>

#include "check.hpp"
#include "lapwing/costs/source.hpp"

using namespace lapwing;
using lapwing::test::tally;

namespace {

// Looks a row up as a source does; returns whether it was held.
bool look_up(RowCache& cache, Index row) {
    const bool held = cache.holds(row);
    if (!held) cache.place(row);
    cache.find(row);
    return held;
}

// Slots are dealt out without clashes, under any sequence of calls.
void test_slots() {
    for (const auto& [rows, slots] : {std::pair<Index, Index>{1, 1}, {10, 1}, {10, 10}, {50, 4}, {50, 12}, {50, 13}}) {
        tally().where = "slots " + std::to_string(slots) + " of " + std::to_string(rows);
        std::mt19937_64 random(3);
        RowCache cache(rows, slots);
        std::map<Index, Index> row_in;  // the row that was last placed in a slot
        for (int step = 0; step < 5000; ++step) {
            const auto row = static_cast<Index>(random() % static_cast<unsigned>(rows));
            if (!cache.holds(row)) {
                const Index slot = cache.place(row);
                CHECK(0 <= slot && slot < slots && cache.is_fresh(row));
                if (row_in.contains(slot)) CHECK(!cache.holds(row_in[slot]) || row_in[slot] == row);
                row_in[slot] = row;
            } else if (random() % 8 == 0) {
                row_in.erase(cache.find(row));
                cache.drop(row);
                CHECK(!cache.holds(row) && cache.find(row) == -1);
                continue;
            }
            if (random() % 4 != 0) {
                const Index slot = cache.find(row);
                CHECK(row_in[slot] == row && !cache.is_fresh(row));
            }
            Index held = 0;
            for (Index i = 0; i < rows; ++i) held += cache.holds(i);
            CHECK(held <= slots);
        }
    }
}

// Rows in daily use survive a pass over all rows, under both policies; plain LRU would lose them.
void test_a_pass_drives_nothing_out() {
    for (const Index slots : {20, 40}) {  // segmented LRU below a quarter of the rows, LFU from there on
        tally().where = "pass, slots " + std::to_string(slots);
        RowCache cache(100, slots);
        for (int round = 0; round < 3; ++round)
            for (Index row = 0; row < 10; ++row) look_up(cache, row);
        for (Index row = 10; row < 100; ++row) look_up(cache, row);
        for (Index row = 0; row < 10; ++row) CHECK(look_up(cache, row));
    }
}

void test_policies() {
    tally().where = "LFU";
    RowCache frequent(8, 2);
    for (const Index row : {0, 0, 0, 1, 1, 2}) look_up(frequent, row);  // 2 takes the place of 1, which was used less
    CHECK(frequent.holds(0) && frequent.holds(2) && !frequent.holds(1));
    look_up(frequent, 1);  // its uses are remembered: three now, as many as row 0's, which were longer ago
    look_up(frequent, 3);
    CHECK(frequent.holds(1) && frequent.holds(3) && !frequent.holds(0));
    tally().where = "segmented LRU";
    RowCache recent(100, 5);
    for (const Index row : {0, 1, 0, 1, 2, 3, 4, 5}) look_up(recent, row);  // 0 and 1 are protected, 2 is the oldest
    CHECK(recent.holds(0) && recent.holds(1) && !recent.holds(2) && recent.holds(3) && recent.holds(5));
    tally().where = "fresh rows";
    RowCache block(100, 30);
    for (int round = 0; round < 4; ++round)
        for (Index row = 0; row < 30; ++row) look_up(block, row);
    for (Index row = 50; row < 60; ++row) block.place(row);
    for (Index row = 50; row < 60; ++row) CHECK(block.holds(row) && block.is_fresh(row));
}

struct Failure {};

// Rows of 300,000 costs, of which eight are held, in any order, from two threads, with failures in between.
void test_source() {
    tally().where = "source";
    constexpr Index kRows = 40, kCols = 300'000;
    std::atomic<int> inside = 0;
    std::atomic<bool> fails = false, alone = true;
    const auto value = [](Index i, Index j) { return static_cast<float>(i * 1000 + j % 1000); };
    RowsSource<float> source(kRows, kCols, 0, [&](Index begin, Index end, float* const* rows) {
        if (++inside != 1) alone = false;
        for (Index i = begin; i < end; ++i)
            for (Index j = 0; j < kCols; ++j) rows[i - begin][j] = fails ? -1 : value(i, j);
        --inside;
        if (fails) throw Failure{};
    });
    CHECK(source.rows_at_once() == 1 && RowsSource<float>::block_rows(4000) == 64);
    CHECK(RowsSource<float>::slots(kRows, kCols, 0) == 8 && RowsSource<float>::slots(10, 10, 1 << 20) == 10);
    std::atomic<long> wrong = 0;
    run_together(2, [&](bool is_caller) {
        std::mt19937_64 random(is_caller ? 1 : 2);
        for (int step = 0; step < 60; ++step) {
            const auto i = static_cast<Index>(random() % kRows), j = static_cast<Index>(random() % (kCols - 100));
            float piece[100];
            source.read(i, j, 100, piece);
            for (Index k = 0; k < 100; ++k) wrong += piece[k] != value(i, j + k);
        }
    });
    CHECK(wrong == 0 && alone);
    fails = true;
    int thrown = 0;
    for (Index i = 0; i < kRows; ++i) {
        float first = 0;
        try {
            source.read(i, 0, 1, &first);
            CHECK(first == value(i, 0));  // held from before
        } catch (const Failure&) {
            ++thrown;
        }
    }
    CHECK(thrown >= kRows - 8);
    fails = false;
    source.fetch(0, kRows);
    for (Index i = 0; i < kRows; ++i) {  // nothing of what failed is taken for a row
        float last = 0;
        source.read(i, kCols - 1, 1, &last);
        CHECK(last == value(i, kCols - 1));
    }
}

void test_counters() {
    tally().where = "counters";
    RowsSource<double> source(100, 50, 100 * 50 * 8, [](Index begin, Index end, double* const* rows) {
        for (Index i = begin; i < end; ++i) std::fill_n(rows[i - begin], 50, i);
    });
    double row[50];
    source.fetch(10, 74);  // one request, whose rows count as missed
    for (Index i = 10; i < 74; ++i) source.read(i, 0, 50, row);
    CHECK(source.counters().misses == 64 && source.counters().hits == 0 && source.counters().requests == 1);
    source.read(20, 0, 25, row);
    source.read(20, 25, 25, row);  // the rest of the row
    CHECK(source.counters().hits == 1);
    source.fetch(5, 80);  // the rows around those that are held
    CHECK(source.counters().requests == 3 && source.counters().misses == 75);
}

void test_a_function_that_asks_itself() {
    tally().where = "re-entrant";
    RowsSource<float>* self = nullptr;
    RowsSource<float> source(10, 10, 0, [&](Index, Index, float* const*) {
        float cost;
        self->read(3, 3, 1, &cost);
    });
    self = &source;
    bool refused = false;
    try {
        float cost;
        source.read(0, 0, 1, &cost);
    } catch (const Refused&) {
        refused = true;
    }
    CHECK(refused);
}

// Rows of a strided matrix, copied several at once where they are expected, read in any order.
void test_a_reader_of_strided_rows() {
    std::mt19937 random(3);
    for (int trial = 0; trial < 500; ++trial) {
        tally().where = "strided rows " + std::to_string(trial);
        const auto rows = static_cast<Index>(1 + random() % 40), cols = static_cast<Index>(1 + random() % 50);
        std::vector<float> costs(static_cast<std::size_t>(2) * rows * cols);
        for (float& cost : costs) cost = static_cast<float>(random() % 1000);
        const MatrixView<float> by_columns{costs.data(), rows, cols, 1, rows};
        const MatrixView<float> backwards{costs.data() + costs.size() - 1, rows, cols, -1, -rows};
        const MatrixView<float> every_other{costs.data(), rows, cols, std::ptrdiff_t{2} * cols, 2};
        const MatrixView<float> view = std::array{by_columns, backwards, every_other}[trial % 3];
        RowReader<float> reader(view, nullptr);
        Index next = 0;
        for (int step = 0; step < 30; ++step) {
            if (random() % 3 == 0) {
                next = static_cast<Index>(random() % rows);
                reader.expect(next, next + 1 + static_cast<Index>(random() % (rows - next)));
            }
            const auto i = static_cast<Index>((random() % 4 != 0 ? next : random()) % rows);
            const float* row = reader.row(i);
            bool same = true;
            for (Index j = 0; j < cols; ++j) same = same && row[j] == view.at(i, j);
            CHECK(same);
            next = i + 1;
        }
    }
}

}  // namespace

int main() {
    test_a_reader_of_strided_rows();
    test_slots();
    test_a_pass_drives_nothing_out();
    test_policies();
    test_source();
    test_counters();
    test_a_function_that_asks_itself();
    return lapwing::test::report();
}
