#include "module/cli/redis/data_safety.hpp"

#include <cstdint>
#include <limits>
#include <map>

#include "module/cli/failure.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::cli {

namespace {

using InfoFields = std::map<std::string_view, std::string_view>;

/// The lines `NAME:VALUE` of a reply to INFO.
InfoFields fields_of(std::string_view info) {
    InfoFields fields;
    while (!info.empty()) {
        const auto end = info.find("\r\n");
        const auto line = info.substr(0, end);
        const auto colon = line.find(':');
        if (colon != std::string_view::npos) {
            fields.emplace(line.substr(0, colon), line.substr(colon + 1));
        }
        info.remove_prefix(end == std::string_view::npos ? info.size() : end + 2);
    }
    return fields;
}

std::string_view field(const InfoFields& fields, std::string_view name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string_view() : found->second;
}

std::int64_t number_in(const InfoFields& fields, std::string_view name) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    return parse_whole_number(field(fields, name), 0, kMost).value_or(0);
}

/// Whether the last snapshot contains the data of at least five minutes ago. When a server starts,
/// it notes the time as that of its last snapshot.
bool has_recent_snapshot(const InfoFields& fields) {
    constexpr std::int64_t kRecent = 300;
    constexpr std::int64_t kMicroseconds = 1'000'000;
    const auto now = number_in(fields, "server_time_usec") / kMicroseconds;
    const auto saved = number_in(fields, "rdb_last_save_time");
    const auto started = now - number_in(fields, "uptime_in_seconds");
    return field(fields, "rdb_last_bgsave_status") == "ok" && saved > started + 1 &&
           now - saved <= kRecent;
}

void warn_of_danger(const std::string& address, const std::string& danger) {
    warn("Redis at " + address + " " + danger);
}

}  // namespace

std::vector<std::string> dangers_in(std::string_view info) {
    const auto fields = fields_of(info);
    std::vector<std::string> dangers;
    if (field(fields, "aof_enabled") == "0" &&
        field(fields, "rdb_changes_since_last_save") != "0" && !has_recent_snapshot(fields)) {
        dangers.emplace_back(
            "loses keys when it ends: appendonly is off, and it has written no snapshot within "
            "the last 5 minutes: set appendonly yes");
    }
    const auto policy = field(fields, "maxmemory_policy");
    if (!policy.empty() && policy != "noeviction" && number_in(fields, "maxmemory") > 0) {
        dangers.push_back("evicts keys or counts when its memory is full: maxmemory-policy is " +
                          std::string(policy) + ": set maxmemory-policy noeviction");
    }
    return dangers;
}

void warn_of_dangers(RedisSession& session) {
    try {
        for (const auto& [address, info] : session.info()) {
            for (const auto& danger : dangers_in(info)) {
                warn_of_danger(address, danger);
            }
        }
    } catch (const Failure& failure) {
        warn(std::string("Redis cannot be checked: ") + failure.what());
    }
}

}  // namespace tollgate::cli
