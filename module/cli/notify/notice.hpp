#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "module/redis/protocol/value.hpp"

namespace tollgate::cli {

/// A notice as a webhook.
struct Notice {
    std::string entry;  ///< the id of its entry in the stream `notices`
    /// The id of the webhook. Notices of the same level and limit of the same window, or of the
    /// same expiry, have the same one, also if they have several entries.
    std::string id;
    std::string body;                  ///< JSON
    std::chrono::sys_seconds noted{};  ///< when the gateway or the sweep of keys has noticed it
};

/// Reads an entry of the stream `notices`: its id, and its fields and values (see notice_field).
/// nullopt if they are no notice.
std::optional<Notice> read_notice(const redis::Value& entry);

}  // namespace tollgate::cli
