#include "module/text/accept.hpp"

#include <algorithm>

#include "module/text/ascii.hpp"

namespace tollgate {

namespace {

constexpr std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    return first == std::string_view::npos
               ? ""
               : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Removes and returns the text before the next `separator`.
std::string_view take(std::string_view& text, char separator) {
    const auto part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    return trim(part);
}

/// A weight in thousandths: `1`, `0.5`, `1.000`. An invalid weight counts as 1.
std::int64_t parse_weight(std::string_view text) {
    constexpr std::int64_t kMost = 1000;
    if (text.empty() || text.front() != '0') {
        return kMost;
    }
    std::int64_t weight = 0;
    std::int64_t place = kMost;
    for (const char c : text.substr(std::min<std::size_t>(text.size(), 2))) {
        if (c < '0' || c > '9') {
            return kMost;
        }
        place /= 10;
        weight += place * (c - '0');
    }
    return weight;
}

/// The weight of a media range, in thousandths.
std::int64_t weight_of(std::string_view parameters) {
    while (!parameters.empty()) {
        auto parameter = take(parameters, ';');
        if (equals_ignoring_case(take(parameter, '='), "q")) {
            return parse_weight(trim(parameter));
        }
    }
    return parse_weight("1");
}

}  // namespace

std::int64_t accept_weight(std::string_view accept, std::string_view type) {
    std::int64_t weight = 0;
    while (!accept.empty()) {
        auto range = take(accept, ',');
        if (equals_ignoring_case(take(range, ';'), type)) {
            weight = std::max(weight, weight_of(range));
        }
    }
    return weight;
}

}  // namespace tollgate
