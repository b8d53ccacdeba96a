#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/quota/rate.hpp"

namespace tollgate {

/// What a key of this plan may do.
struct Plan {
    enum class Kind {
        kLimited,    ///< `rates` hold
        kCustom,     ///< the limits stand in the key's own record
        kUnlimited,  ///< no quota
    };
    std::string name;
    Kind kind = Kind::kLimited;
    std::vector<Rate> rates;  ///< ascending by period; empty unless kLimited
    bool sliding = false;  ///< windows slide (two-bucket estimate) in place of being aligned to UTC
};

/// When a key that goes on after its 429s is banned, and for how long: each ban doubles the last,
/// up to a cap.
struct BanPolicy {
    std::int64_t after = 0;              ///< strikes, at least 1
    std::chrono::milliseconds within{};  ///< counted from the first strike
    std::chrono::milliseconds first{};   ///< length of the first ban
    std::chrono::milliseconds up_to{};  ///< longest ban; a ban is forgotten that long after its end
};

/// A table of plans, as `tollgate_plans` configures it; its counters bear its name.
struct PlanTable {
    std::string name;
    std::vector<Plan> plans;
    std::string default_plan;  ///< for keys of plans that the table doesn't name; may be empty
    std::vector<Rate>
        anonymous;  ///< what an address may spend on failed authentications; may be empty
    std::vector<std::string> anonymous_policies{};  ///< what the windows of these are called
    std::optional<BanPolicy> ban;
    bool leases = true;  ///< whether a node may grant ahead of Redis

    /// The plan of this name, else the default; nullptr where neither is there.
    const Plan* find(std::string_view plan) const;
};

/// Reads the words after `plan`: a name, then rates, `custom` or `unlimited`, then perhaps
/// `window=fixed|sliding`. Throws ParseError.
Plan parse_plan(std::span<const std::string_view> words);

/// Reads the words after `ban`: `after=`, `within=`, `for=` and perhaps `up_to=` (24 hours, or one
/// ban where that is longer). Throws ParseError.
BanPolicy parse_ban(std::span<const std::string_view> words);

}  // namespace tollgate
