#include <cstddef>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "module/cli/commands/commands.hpp"
#include "module/cli/doctor/finding.hpp"
#include "module/cli/failure.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/redis/deployment_warnings.hpp"
#include "module/cli/terminal/json_value.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/terminal/printable.hpp"
#include "module/cli/terminal/result_format.hpp"

namespace tollgate::cli {

namespace {

std::string rendered(Format format, const std::vector<Finding>& findings, MissingRecords missing) {
    if (format == Format::kText) {
        std::string text;
        for (const auto& finding : findings) {
            text.append(finding.check).append(": ");
            text.append(printable(text_of(finding, missing))).append("\n");
        }
        return text;
    }
    Json list = Json::array();
    for (const auto& finding : findings) {
        list.push_back({{"check", finding.check}, {"text", text_of(finding, missing)}});
    }
    return json_document({{"findings", std::move(list)}});
}

}  // namespace

std::string text_of(const Finding& finding, MissingRecords missing) {
    if (finding.removal.empty()) {
        return finding.text;
    }
    switch (missing) {
        case MissingRecords::kAreGone:
            break;
        case MissingRecords::kMayReturn:
            return finding.text +
                   ": if the log of Redis has an error of its \"AOF-loading-client\", restart "
                   "Redis, which brings back what is missing; otherwise " +
                   finding.removal;
        case MissingRecords::kReturn:
            return finding.text +
                   ": change nothing before Redis has read all of its append-only file: see "
                   "\"persistence\"";
    }
    return finding.text + ": " + finding.removal;
}

namespace {

/// What is found, and which checks failed.
struct Examination {
    std::vector<Finding> findings;
    MissingRecords missing = MissingRecords::kAreGone;
    std::vector<Failure> failures;
    std::size_t completed = 0;  ///< checks

    void add(std::vector<Finding> found) {
        findings.insert(findings.end(), std::make_move_iterator(found.begin()),
                        std::make_move_iterator(found.end()));
    }
    /// Runs a check. What is unreachable does not prevent other checks.
    template <typename Check>
    void attempt(const Check& check) {
        try {
            check();
            ++completed;
        } catch (const Failure& failure) {
            if (failure.status() != ExitStatus::kRedis) {
                throw;
            }
            failures.push_back(failure);
        }
    }
};

void examine_redis(RedisSession& session, const CommandLine& line, Examination& result) {
    check_prefix(session, WrongPrefix::kWarning);
    const auto tables = read_tables(session);
    auto of_servers = findings_of_servers(session);
    result.missing = of_servers.missing;
    result.add(std::move(of_servers.findings));
    if (!line.gateway_user.empty()) {
        result.add(findings_of_gateway_user(session, line.gateway_user, tables));
    }
    result.add(findings_of_gateways(session, tables));
    result.add(findings_of_ids(session, tables));
    result.add(findings_of_records(session));
    result.add(findings_of_notices(session, tables));
}

}  // namespace

void examine(const std::function<RedisSession()>& connect, const CommandLine& line) {
    Examination result;
    result.attempt([&] {
        auto session = connect();
        examine_redis(session, line, result);
    });
    for (const auto& url : line.statuses) {
        result.attempt([&] { result.add(findings_of_node(url)); });
    }
    const auto& findings = result.findings;
    if (result.completed > 0 || !findings.empty()) {
        require_print(rendered(line.format(), findings, result.missing));
    }
    if (!result.failures.empty()) {
        for (const auto& failure : std::span(result.failures).subspan(1)) {
            warn(failure.what());
        }
        throw Failure(result.failures.front());
    }
    if (!findings.empty()) {
        throw Failure(ExitStatus::kFindings, "the deployment has " +
                                                 std::to_string(findings.size()) +
                                                 (findings.size() == 1 ? " problem" : " problems"));
    }
}

}  // namespace tollgate::cli
