// Shared by the "auction" method (auction.cpp) and its kernels.
#pragma once

#include <algorithm>

#include "lapwing/ssp/ssp.hpp"

namespace lapwing {

// A row's list: the columns whose values do not exceed the kAuctionRank-th smallest of the minima of kAuctionGroups
// groups, so some 30 of them.
inline constexpr int kAuctionGroups = 64;
inline constexpr int kAuctionRank = 24;
inline constexpr Index kAuctionListed = 64;

template <class D>
D auction_rank(D* groups) {
    std::nth_element(groups, groups + kAuctionRank, groups + kAuctionGroups);
    return groups[kAuctionRank];
}

}  // namespace lapwing
