#pragma once

#include <chrono>

namespace tollgate::redis {

/// The time at which a test begins. There are times before it.
inline constexpr std::chrono::steady_clock::time_point kStart{std::chrono::seconds(1000)};

/// A time, from 0.
inline std::chrono::steady_clock::time_point at(std::chrono::milliseconds time) {
    return std::chrono::steady_clock::time_point(time);
}
inline std::chrono::steady_clock::time_point at(int ms) {
    return at(std::chrono::milliseconds(ms));
}

}  // namespace tollgate::redis
