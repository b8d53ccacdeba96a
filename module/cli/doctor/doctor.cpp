#include <iterator>

#include "module/cli/commands/commands.hpp"
#include "module/cli/doctor/finding.hpp"
#include "module/cli/failure.hpp"
#include "module/cli/keys/plan_check.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/terminal/printable.hpp"
#include "module/cli/terminal/result_format.hpp"

namespace tollgate::cli {

namespace {

std::string rendered(Format format, const std::vector<Finding>& findings) {
    if (format == Format::kText) {
        std::string text;
        for (const auto& finding : findings) {
            text.append(finding.check).append(": ").append(printable(finding.text)).append("\n");
        }
        return text;
    }
    Json list = Json::array();
    for (const auto& finding : findings) {
        list.push_back({{"check", finding.check}, {"text", finding.text}});
    }
    return json_document({{"findings", std::move(list)}});
}

}  // namespace

void examine(RedisSession& session, const CommandLine& line) {
    std::vector<Finding> findings;
    const auto add = [&](std::vector<Finding> found) {
        findings.insert(findings.end(), std::make_move_iterator(found.begin()),
                        std::make_move_iterator(found.end()));
    };
    const auto tables = read_tables(session);
    add(findings_of_servers(session));
    if (!line.gateway_user.empty()) {
        add(findings_of_gateway_user(session, line.gateway_user, tables));
    }
    add(findings_of_gateways(session, tables));
    add(findings_of_ids(session, tables));
    add(findings_of_records(session));
    add(findings_of_notices(session, tables));
    for (const auto& url : line.statuses) {
        add(findings_of_node(url));
    }
    require_print(rendered(line.format(), findings));
    if (!findings.empty()) {
        throw Failure(ExitStatus::kFindings, "the deployment has " +
                                                 std::to_string(findings.size()) +
                                                 (findings.size() == 1 ? " problem" : " problems"));
    }
}

}  // namespace tollgate::cli
