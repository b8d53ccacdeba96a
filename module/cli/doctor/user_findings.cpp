#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "module/cli/doctor/finding.hpp"
#include "module/cli/doctor/gateway_commands.hpp"
#include "module/cli/redis/redis_session.hpp"

namespace tollgate::cli {

namespace {

constexpr std::string_view kPermissions = "permissions";

/// What the user of the gateways may not do at a server, in several parts.
Finding finding_of(std::string_view user, std::string_view server,
                   std::initializer_list<std::string_view> parts) {
    std::string text = "the user \"";
    text.append(user).append("\" of the gateways, of Redis at ").append(server).append(", ");
    for (const auto part : parts) {
        text += part;
    }
    return {kPermissions, std::move(text)};
}

/// Asks the masters what the user of the gateways may do.
class GatewayUser {
  public:
    GatewayUser(RedisSession& session, std::string user)
        : session_(session), user_(std::move(user)) {}

    /// Asks all masters whether the user may run a command.
    std::map<std::string, redis::Value> ask(const GatewayCommand& command) {
        redis::Command dry_run{"ACL", "DRYRUN", user_};
        auto example = example_of(command, session_.keys());
        std::ranges::move(example, std::back_inserter(dry_run));
        return session_.ask_masters(dry_run);
    }
    /// Whether the user may run a command on all masters.
    bool may_run(const GatewayCommand& command) {
        return std::ranges::all_of(ask(command),
                                   [](const auto& reply) { return reply.second.text == "OK"; });
    }

  private:
    RedisSession& session_;
    std::string user_;
};

/// What the user of a server lacks.
struct Lacks {
    std::map<GatewayUse, std::string> rules;  ///< `+hkeys +hdel`, in the order of the uses
    bool keys = false;
    bool channel = false;

    void add(const GatewayCommand& command, std::string_view refusal) {
        // The commands before it need keys and the channel as well.
        if (refusal.find("channel") != std::string_view::npos) {
            channel = true;
        } else if (refusal.find("to run") == std::string_view::npos) {
            keys = true;
        } else {
            auto& rule = rules[command.use];
            rule.append(rule.empty() ? "+" : " +").append(command.name);
        }
    }
};

/// Why ACL DRYRUN cannot tell what the user may do: an error reply.
std::string obstacle(const std::string& server, const std::string& user, std::string_view error) {
    if (error.starts_with("NOPERM")) {
        return "the user of doctor may not call ACL DRYRUN: the commands of the gateways' user are "
               "not checked: add +acl|dryrun";
    }
    if (error.find("not found") != std::string_view::npos) {
        return "Redis at " + server + " has no user \"" + user +
               "\": add the user of the gateways, as the documentation has it";
    }
    return "Redis at " + server + " does not tell what a user may do: ACL DRYRUN needs Redis 7.0";
}

/// Whether a table limits requests in flight, or the limits of a key may.
bool may_limit_flights(const PlanTable& table) {
    return !table.counts_values() && !table.by_group &&
           std::ranges::any_of(table.plans, [](const Plan& plan) {
               return plan.in_flight > 0 || plan.kind == Plan::Kind::kCustom;
           });
}

/// The uses that the gateways of these tables have.
std::vector<GatewayUse> uses_of(const std::vector<PlanTable>& tables, bool manages) {
    using enum GatewayUse;
    std::vector<GatewayUse> uses{kRequests, kLastUses, kChanges, kNodes, kRecalls};
    const auto any = [&](auto has) { return std::ranges::any_of(tables, has); };
    if (any([](const PlanTable& table) { return table.has_history(); })) {
        uses.push_back(kHistory);
    }
    if (any([](const PlanTable& table) { return table.has_history() || table.ban; })) {
        uses.push_back(kSubjects);
    }
    if (any(may_limit_flights)) {
        uses.push_back(kInFlight);
    }
    if (any([](const PlanTable& table) { return !table.notify.empty(); })) {
        uses.push_back(kNotices);
    }
    if (manages) {
        uses.push_back(kManagement);
    }
    return uses;
}

/// Whether the user may run a command that only tollgate_admin needs: its gateways have it then.
bool seems_to_manage(GatewayUser& user) {
    const auto commands = gateway_commands();
    return std::ranges::any_of(commands, [&](const GatewayCommand& command) {
        const bool is_only_of_management =
            command.use == GatewayUse::kManagement &&
            std::ranges::count(commands, command.name, &GatewayCommand::name) == 1;
        return is_only_of_management && user.may_run(command);
    });
}

}  // namespace

std::vector<Finding> findings_of_gateway_user(RedisSession& session, const std::string& user,
                                              const std::vector<PlanTable>& tables) {
    GatewayUser of_server(session, user);
    for (const auto& [server, reply] : of_server.ask(gateway_commands().front())) {
        if (reply.is_error()) {
            return {{kPermissions, obstacle(server, user, reply.text)}};
        }
    }
    const auto uses = uses_of(tables, seems_to_manage(of_server));
    std::map<std::string, Lacks> by_server;
    for (const auto& command : gateway_commands()) {
        if (std::ranges::find(uses, command.use) == uses.end()) {
            continue;
        }
        for (const auto& [server, reply] : of_server.ask(command)) {
            if (reply.text != "OK") {
                by_server[server].add(command, reply.text);
            }
        }
    }
    std::vector<Finding> findings;
    for (const auto& [server, lacks] : by_server) {
        if (lacks.keys) {
            findings.push_back(
                finding_of(user, server,
                           {"may not use the keys of the prefix: add ~", session.prefix(), "*"}));
        }
        if (lacks.channel) {
            findings.push_back(
                finding_of(user, server,
                           {"may not use the channel of changes: add &", session.keys().events()}));
        }
        for (const auto& [use, rules] : lacks.rules) {
            findings.push_back(finding_of(
                user, server, {"lacks commands: ", consequence_of(use), ": add ", rules}));
        }
    }
    return findings;
}

}  // namespace tollgate::cli
