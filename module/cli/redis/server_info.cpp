#include "module/cli/redis/server_info.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "module/text/whole_number.hpp"

namespace tollgate::cli {

namespace {

using InfoFields = std::map<std::string_view, std::string_view>;

/// The lines `NAME:VALUE` of a reply to INFO.
InfoFields fields_of(std::string_view info) {
    InfoFields fields;
    while (!info.empty()) {
        const auto line = info.substr(0, info.find("\r\n"));
        const auto name = line.substr(0, line.find(':'));
        fields.emplace(name, line.substr(std::min(name.size() + 1, line.size())));
        info.remove_prefix(std::min(line.size() + 2, info.size()));
    }
    return fields;
}

std::string_view info_field(const InfoFields& fields, std::string_view name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string_view() : found->second;
}

std::int64_t info_number(const InfoFields& fields, std::string_view name) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    return parse_whole_number(info_field(fields, name), 0, kMost).value_or(0);
}

/// Whether the last snapshot contains the data of at least five minutes ago. When a server starts,
/// it notes the time as that of its last snapshot.
bool has_recent_snapshot(const InfoFields& fields) {
    constexpr std::int64_t kRecent = 300;
    constexpr std::int64_t kMicroseconds = 1'000'000;
    const auto now = info_number(fields, "server_time_usec") / kMicroseconds;
    const auto saved = info_number(fields, "rdb_last_save_time");
    const auto started = now - info_number(fields, "uptime_in_seconds");
    return info_field(fields, "rdb_last_bgsave_status") == "ok" && saved > started + 1 &&
           now - saved <= kRecent;
}

}  // namespace

std::vector<Danger> dangers_in(std::string_view info) {
    const auto fields = fields_of(info);
    std::vector<Danger> dangers;
    if (info_field(fields, "aof_enabled") == "0" &&
        info_field(fields, "rdb_changes_since_last_save") != "0" && !has_recent_snapshot(fields)) {
        dangers.push_back(
            {"persistence",
             "loses keys when it ends: appendonly is off, and it has written no snapshot within "
             "the last 5 minutes: set appendonly yes"});
    }
    const auto policy = info_field(fields, "maxmemory_policy");
    if (!policy.empty() && policy != "noeviction" && info_number(fields, "maxmemory") > 0) {
        dangers.push_back(
            {"eviction", "evicts keys or counts when its memory is full: maxmemory-policy is " +
                             std::string(policy) + ": set maxmemory-policy noeviction"});
    }
    return dangers;
}

bool appends_changes(std::string_view info) {
    return info_field(fields_of(info), "aof_enabled") == "1";
}

bool has_refused_commands(std::string_view info) {
    return appends_changes(info) && !info_field(fields_of(info), "errorstat_NOPERM").empty();
}

std::string old_version_in(std::string_view info) {
    constexpr std::pair<std::int64_t, std::int64_t> kOldest{6, 2};
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    const auto fields = fields_of(info);
    const auto version = info_field(fields, "redis_version");
    const auto dot = version.find('.');
    if (dot == std::string_view::npos) {
        return {};
    }
    const auto after = version.substr(dot + 1);
    const auto major = parse_whole_number(version.substr(0, dot), 0, kMost);
    const auto minor = parse_whole_number(after.substr(0, after.find('.')), 0, kMost);
    return major && minor && std::pair(*major, *minor) < kOldest ? std::string(version) : "";
}

std::chrono::milliseconds time_in(std::string_view info) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::microseconds(info_number(fields_of(info), "server_time_usec")));
}

}  // namespace tollgate::cli
