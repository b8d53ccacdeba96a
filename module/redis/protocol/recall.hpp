#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "module/plan/value_digest.hpp"

namespace tollgate::redis {

/// A message of the channel `events` to all nodes: one of them lacks what others hold of an id or a
/// group, and they return at once what no request uses. See scripts/recall.lua for when it is sent.
struct Recall {
    enum class What : std::uint8_t {
        kLeases,
        kPlaces,  ///< of requests in flight
    };
    What what = What::kLeases;
    std::string_view id{};
    /// If it has one, only the leases of this value of the id are meant.
    ValueDigest value{};

    /// The message. Throws std::bad_alloc.
    std::string text() const;
};

/// The recall that this message is; nothing if it is another one. Refers to the message.
std::optional<Recall> read_recall(std::string_view message);

}  // namespace tollgate::redis
