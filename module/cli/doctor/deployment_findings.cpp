#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/doctor/finding.hpp"
#include "module/cli/redis/redis_session.hpp"
#include "module/cli/redis/replay.hpp"
#include "module/cli/redis/server_info.hpp"
#include "module/cli/terminal/json_value.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/cli/usage/http_client.hpp"
#include "module/management/key_reader.hpp"
#include "module/report/statistics.hpp"

namespace tollgate::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

/// Whether the user may run a command that changes nothing.
bool may_run(RedisSession& session, const redis::Command& command) {
    return session.run_if_accepted(command).has_value();
}

std::string seconds_text(milliseconds time) {
    constexpr std::int64_t kTenth = 100;
    const auto tenths = time.count() / kTenth;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

/// What is wrong with the time of a server that was asked between two times of this machine.
std::string clock_difference(milliseconds server, milliseconds before, milliseconds after) {
    constexpr milliseconds kAccepted{1000};
    if (server > after + kAccepted) {
        return seconds_text(server - after) + " ahead of";
    }
    return server < before - kAccepted ? seconds_text(before - server) + " behind" : "";
}

milliseconds now() {
    return std::chrono::duration_cast<milliseconds>(system_clock::now().time_since_epoch());
}

/// Adds what the servers would skip of their append-only files, and says what may come back.
MissingRecords add_replay(RedisSession& session, const std::map<std::string, std::string>& infos,
                          std::vector<Finding>& findings) {
    const auto replay = check_replay(session, infos, ReplayCheck::kAllCommands);
    for (const auto& [address, text] : replay.skips) {
        std::string finding = "Redis at " + address;
        findings.push_back({"persistence", finding.append(" ").append(text)});
    }
    if (!replay.may_ask) {
        findings.push_back({"permissions",
                            "the user may not call ACL DRYRUN: whether Redis reads all of its "
                            "append-only file when it starts is not checked: add +acl|dryrun"});
    }
    if (!replay.skips.empty()) {
        return MissingRecords::kReturn;
    }
    const bool has_refused = std::ranges::any_of(
        infos, [](const auto& of_server) { return has_refused_commands(of_server.second); });
    return has_refused || !replay.may_ask ? MissingRecords::kMayReturn : MissingRecords::kAreGone;
}

}  // namespace

ServerFindings findings_of_servers(RedisSession& session) {
    ServerFindings result;
    auto& findings = result.findings;
    const auto before = now();
    const auto servers = session.info();
    const auto after = now();
    for (const auto& [address, info] : servers) {
        const std::string subject = "Redis at " + address + " ";
        for (const auto& danger : dangers_in(info)) {
            findings.push_back({danger.name, subject + danger.text});
        }
        if (const auto version = old_version_in(info); !version.empty()) {
            std::string text = subject + "has the version ";
            text.append(version).append(": Tollgate needs 6.2 or later: upgrade it");
            findings.push_back({"version", std::move(text)});
        }
        const auto difference = clock_difference(time_in(info), before, after);
        if (time_in(info) > milliseconds(0) && !difference.empty()) {
            std::string text = subject + "has a clock that is ";
            text.append(difference)
                .append(" that of this machine: windows and the expiry of keys follow the clock ")
                .append("of Redis: synchronize both (NTP)");
            findings.push_back({"clock", std::move(text)});
        }
    }
    if (servers.empty()) {
        findings.push_back({"permissions",
                            "the user may not call INFO: version, persistence, eviction and clock "
                            "of Redis are not checked: add +info"});
    }
    result.missing = add_replay(session, servers, findings);
    if (!may_run(session, {"ROLE"}) || !may_run(session, {"WAIT", "0", "1"})) {
        findings.push_back({"permissions",
                            "the user may not call ROLE and WAIT: no command waits for a replica "
                            "after a change: add +role +wait"});
    }
    return result;
}

std::vector<Finding> findings_of_gateways(RedisSession& session,
                                          const std::vector<PlanTable>& tables) {
    std::vector<Finding> findings;
    if (tables.empty()) {
        findings.push_back({"plans", "no gateway has published plan tables with the prefix \"" +
                                         session.prefix() +
                                         "\": start one, or set --prefix to that of its "
                                         "tollgate_redis. Plans of keys are not checked"});
        return findings;
    }
    const auto time = complete(management::KeyReader(session, session.keys()).time());
    const auto nodes =
        session.run({"ZRANGE", session.keys().nodes(), "-1", "-1", "WITHSCORES"}).texts();
    if (nodes.size() < 2 ||
        redis::number_or_zero(nodes[1]) < time.time_since_epoch() / milliseconds(1)) {
        findings.push_back({"nodes",
                            "no node is alive: gateways enter themselves in Redis each second: "
                            "see their error logs"});
    }
    return findings;
}

std::vector<Finding> findings_of_node(const std::string& url) {
    const auto address = parse_http_url(url);
    const auto status = Json::parse(http_get(address), nullptr, false);
    const auto connections = value_at(status, "/redis");
    if (!value_at(status, "/zone/stores").is_object() || !connections.is_array()) {
        throw Failure(ExitStatus::kRedis, address.address + " is not a tollgate_status");
    }
    std::vector<Finding> findings;
    const std::string subject = "the node at " + address.address + " ";
    for (const auto store : kStoresOfKeys) {
        const std::string name(name_of(store));
        const auto evictions = number_at(status, "/zone/stores/" + name + "/evictions");
        if (evictions > 0) {
            std::string text = subject + "has evicted ";
            text.append(std::to_string(evictions)).append(" entries of \"").append(name);
            text.append("\" since it started: set a larger tollgate_zone");
            findings.push_back({"zone", std::move(text)});
        }
    }
    for (const auto& redis : connections) {
        if (number_at(redis, "/breaker_open_workers") > 0) {
            std::string text = subject + "does not reach its Redis ";
            text.append(json_text(value_at(redis, "/name"), -1)).append(": see its error log");
            findings.push_back({"reachable", std::move(text)});
        }
    }
    return findings;
}

}  // namespace tollgate::cli
