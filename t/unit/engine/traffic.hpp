#pragma once

#include <array>
#include <cmath>
#include <random>
#include <string_view>
#include <vector>

namespace tollgate::engine {

/// How requests are distributed over the keys.
enum class Traffic {
    kEven,  ///< each key as often as any other
    kHot,   ///< all requests have the first key
    kZipf,  ///< the n-th key 1/n as often as the first
};

constexpr std::array kTraffics{Traffic::kEven, Traffic::kHot, Traffic::kZipf};

constexpr std::string_view name_of(Traffic traffic) {
    constexpr std::array<std::string_view, kTraffics.size()> kNames{"even", "hot", "zipf"};
    return kNames[static_cast<std::size_t>(traffic)];
}

/// Chooses the key of each request.
class KeyChoice {
  public:
    /// There is at least one key.
    KeyChoice(Traffic traffic, int keys) {
        std::vector<double> weights;
        for (int i = 0; i < keys; ++i) {
            weights.push_back(traffic == Traffic::kEven   ? 1
                              : traffic == Traffic::kZipf ? 1.0 / (i + 1)
                                                          : (i == 0 ? 1 : 0));
        }
        keys_ = std::discrete_distribution<int>(weights.begin(), weights.end());
        // A distribution of one value stores no weights.
        shares_ = keys_.probabilities();
    }

    /// The number of a key, from 0.
    template <typename Random>
    int operator()(Random& random) {
        return keys_(random);
    }
    /// The share of the requests that have this key.
    double share(int key) const { return shares_[static_cast<std::size_t>(key)]; }

  private:
    std::discrete_distribution<int> keys_;
    std::vector<double> shares_;
};

}  // namespace tollgate::engine
