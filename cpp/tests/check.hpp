// The whole test framework: CHECK counts and reports failures with the case at hand; report() is main's exit status.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace lapwing::test {

struct Tally {
    long checks = 0;
    long failures = 0;
    std::string where;  // the case at hand, shown with a failure
};
inline Tally& tally() {
    static Tally the_tally;
    return the_tally;
}
inline bool check(bool ok, const char* text, const char* file, int line) {
    Tally& t = tally();
    ++t.checks;
    if (!ok && ++t.failures <= 20) std::printf("%s:%d: %s fails in [%s]\n", file, line, text, t.where.c_str());
    return ok;
}
inline int report() {
    std::printf("%ld checks, %ld failures\n", tally().checks, tally().failures);
    return tally().failures == 0 ? 0 : 1;
}

// Runs a test with every type of costs: test.template operator()<T>().
template <class Test>
void with_every_type(const Test& test) {
    test.template operator()<float>();
    test.template operator()<double>();
    test.template operator()<std::int32_t>();
    test.template operator()<std::int64_t>();
}

}  // namespace lapwing::test

#define CHECK(condition) ::lapwing::test::check(static_cast<bool>(condition), #condition, __FILE__, __LINE__)
