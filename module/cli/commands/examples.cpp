#include "module/cli/commands/examples.hpp"

#include <CLI/CLI.hpp>
#include <array>

#include "module/cli/commands/command_line.hpp"
#include "module/cli/commands/command_tree.hpp"
#include "module/cli/terminal/text_layout.hpp"

namespace tollgate::cli {

namespace {

constexpr std::array kExamples{
    Example{"Issue a key for a customer, and show it once:",
            "tollgate key issue --plan free --id acme --name 'ACME Ltd'"},
    Example{
        "Issue a key with limits of its own, which expires at the end of a contract:",
        "tollgate key issue --plan enterprise --limits '5000r/m 1000000r/d' --expires 2027-12-31"},
    Example{"Store a key that the customer has already:",
            "tollgate key import --plan free --id acme < token"},
    Example{"List the keys of a plan that expire within a month:",
            "tollgate key list --plan pro --expires-before 30d"},
    Example{"Find out whose key a file has:", "tollgate key find < token"},
    Example{"Show the record of a customer:", "tollgate key show acme"},
    Example{"Move a customer to another plan:", "tollgate key set acme --plan pro"},
    Example{"Disable the key of a customer until it is enabled again:",
            "tollgate key disable acme"},
    Example{"Enable the key of a customer again:", "tollgate key enable acme"},
    Example{"Begin the windows of a customer anew:", "tollgate key reset acme"},
    Example{"Add what a customer has paid for to its balance, once for each order:",
            "tollgate key credit acme 500000 --ref order-4711"},
    Example{"Remove a customer permanently:", "tollgate key revoke acme --yes"},
    Example{"Rebuild the index after another program has written keys to Redis:",
            "tollgate key reindex"},
    Example{"Replace a key. The old one works for another day:",
            "tollgate key rotate acme --overlap 24h"},
    Example{"Let the ids of a group share the quota of a plan:",
            "tollgate group set widgets --plan business"},
    Example{"Show the record of a group:", "tollgate group show widgets"},
    Example{"List all groups:", "tollgate group list"},
    Example{"Show what is left of the quotas of a group:", "tollgate group usage widgets"},
    Example{"Begin the windows of a group anew:", "tollgate group reset widgets"},
    Example{"Add units to the balance of a group:",
            "tollgate group credit widgets 500000 --ref order-4712"},
    Example{"Delete the record of a group:", "tollgate group delete widgets"},
    Example{"List who is banned:", "tollgate ban list"},
    Example{"Show until when a customer is banned:", "tollgate ban show acme"},
    Example{"Lift the ban of a customer:", "tollgate ban lift acme"},
    Example{"Copy all keys to another Redis:",
            "tollgate export keys > keys.jsonl\n"
            "tollgate import keys.jsonl --redis redis://other:6379"},
    Example{"Compare Redis with the keys that a git repository declares, and then make it equal:",
            "tollgate import keys.jsonl --update --prune --owner platform --dry-run\n"
            "tollgate import keys.jsonl --update --prune --owner platform"},
    Example{"Copy all balances to another Redis, after the keys:",
            "tollgate export balances --ref move-2027 > balances.jsonl\n"
            "tollgate import balances.jsonl --redis redis://other:6379"},
    Example{"Copy all groups to a file:", "tollgate export groups > groups.jsonl"},
    Example{"Write what each customer was granted in November, for invoices:",
            "tollgate export usage --from 2026-11-01 --to 2026-11-30 > november.csv"},
    Example{"Show who has changed the key of a customer:", "tollgate audit acme"},
    Example{"Show what is left of the quotas of a customer, and what was used each day:",
            "tollgate usage acme\ntollgate usage acme --history"},
    Example{"Deliver notices about limits to a service:",
            "tollgate notify --url https://hooks.example.com/quota --secret-file secrets"},
    Example{"Show who is refused most, each five seconds:",
            "tollgate top --sort refusals --interval 5s"},
    Example{"Check Redis, the keys and two nodes:",
            "tollgate doctor --status http://node1:8081/status --status http://node2:8081/status"},
    Example{"Show the counts of a node:", "tollgate status http://node1:8081/status"},
    Example{"Show whom the plans of a new configuration would have refused yesterday:",
            "tollgate simulate --plans nginx.conf access.json.1"},
    Example{"Complete commands in this shell:", "source <(tollgate completion bash)"},
    Example{"Read the manual page:", "tollgate man | man -l -"},
};

/// Whether an example has this command, such as `tollgate key issue`, in whole words.
bool shows(const Example& example, std::string_view path) {
    const auto at = example.command.find(path);
    const auto end = at + path.size();
    return at != std::string_view::npos &&
           (end == example.command.size() || example.command[end] == ' ');
}

}  // namespace

std::span<const Example> examples() {
    return kExamples;
}

std::string help_end(const CLI::App& command) {
    std::string text;
    if (command.get_parent() == nullptr) {
        for (const auto& note : notes()) {
            text += wrap_text(std::string(note.title) + ": " + std::string(note.text), kHelpWidth);
        }
        return text;
    }
    const std::string path = path_of(command);
    for (const auto& example : kExamples) {
        if (commands_of(command).empty() && shows(example, path)) {
            text.append(example.purpose).append("\n");
            for (const auto& line : CLI::detail::split(std::string(example.command), '\n')) {
                text.append("  ").append(line).append("\n");
            }
        }
    }
    return text + (text.empty() ? "" : "\n") +
           "Times, configuration and exit statuses: tollgate --help\n";
}

}  // namespace tollgate::cli
