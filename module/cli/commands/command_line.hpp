#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/cli/configuration/configuration.hpp"
#include "module/cli/simulation/simulate.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/management/operations.hpp"

namespace CLI {
class App;
}

namespace tollgate::cli {

/// The options of `tollgate top`.
struct TopOptions {
    std::string interval = "2s";    ///< between two readings, 100ms to 1h
    std::uint64_t count = 0;        ///< number of refreshes; 0: no limit
    std::size_t limit = 20;         ///< maximum number of rows
    std::string sort = "requests";  ///< `requests` or `refusals`
    std::size_t budget = 5000;      ///< maximum number of watched ids, see QuotaWatch
};

/// The argument and the options of `key credit` and `group credit`.
struct CreditOptions {
    std::int64_t units = 0;
    std::string reference;
    std::string table;        ///< empty: the only one with a balance
    bool is_subject = false;  ///< the id needs no key
};

/// The options of `import --update`.
struct DeclaredOptions {
    bool is_update = false;
    bool is_prune = false;    ///< revokes ids of the owner that no file declares
    bool is_dry_run = false;  ///< prints the differences only
    std::string owner;        ///< see management::kOwnerMember; empty: none
};

/// The options of `tollgate notify`.
struct NotifyOptions {
    std::string url;          ///< of the receiver
    std::string secret_file;  ///< see WebhookSecrets
};

/// The options of `key list`.
struct ListOptions {
    std::optional<std::string> plan;
    std::optional<std::string> name;            ///< see KeyFilter
    std::optional<std::string> state;           ///< see state_of()
    std::optional<std::string> expires_before;  ///< see parse_time
    std::optional<std::string> scope;
    std::optional<std::string> meta;  ///< `NAME=VALUE`
    std::optional<std::string> group;
};

/// The values of the command line, unchecked. The initial values are the defaults.
struct CommandLine {
    Configuration configuration;  ///< of the options and the environment
    bool ask_password = false;    ///< of Redis, on the terminal
    bool json = false;
    std::optional<std::string> new_id;  ///< `--id`; without it an id is generated
    std::string id;                     ///< the argument ID
    /// The options that describe a key: the values of each redis::RecordField::option, by the name
    /// of its field.
    std::map<std::string_view, std::vector<std::string>> key;
    bool force = false;  ///< accept a plan that the gateways would not apply
    ListOptions list;
    bool confirmed = false;  ///< `key revoke --yes`
    std::string overlap{management::kDefaultOverlap};
    std::vector<std::string> files;  ///< the arguments FILE of `import`
    bool follow = false;             ///< `audit --follow`
    bool history = false;            ///< `usage --history`
    std::string from;                ///< `export usage --from`; empty: the earliest day in Redis
    std::string to;                  ///< `export usage --to`; empty: yesterday, by Redis's clock
    std::string billed_by;           ///< `export usage --by`: see BilledBy; empty: days
    TopOptions top;
    SimulateOptions simulate;
    NotifyOptions notify;
    CreditOptions credit;
    DeclaredOptions declared;
    std::string url;                    ///< the argument URL of `status`
    std::vector<std::string> statuses;  ///< `doctor --status`
    std::string gateway_user;           ///< `doctor --gateway-user`; empty: it is not checked
    std::string shell;                  ///< the argument SHELL of `completion`
    std::string listed;                 ///< the argument KIND of `complete`
    std::string word;                   ///< the argument WORD of `complete`
    std::function<void()> action;       ///< runs the chosen subcommand; throws Failure

    Format format() const { return json ? Format::kJson : Format::kText; }
};

/// The length of the lines of a help.
constexpr std::size_t kHelpWidth = 100;

/// A paragraph about all commands. The help of `tollgate` and the manual page print it after the
/// options.
struct Note {
    std::string_view title;
    std::string_view text;
};

/// All notes, in the order in which they are printed.
std::span<const Note> notes();

/// Defines all commands and options. Parsing, the help, the manual page and the completion are
/// derived from this definition. `line` receives the parsed values and must outlive `app`.
void define_commands(CLI::App& app, CommandLine& line);

}  // namespace tollgate::cli
