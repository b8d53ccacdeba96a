#include "module/cli/keys/audit_log.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

#include "module/cli/commands/commands.hpp"
#include "module/cli/commands/operation_failure.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/management/audit.hpp"

namespace tollgate::cli {

namespace {

std::vector<std::string> row_of(const management::StoredEntry& stored) {
    const auto& entry = stored.entry;
    return {format_time(stored.time()), text_or_dash(entry.actor), text_or_dash(entry.action),
            text_or_dash(entry.id),
            text_or_dash(entry.detail) +
                (entry.before.empty() ? "" : " (before: " + entry.before + ")")};
}

std::string user_name() {
    const uid_t user = getuid();
    const char* const caller = std::getenv("SUDO_USER");
    if (user == 0 && caller != nullptr && *caller != '\0') {
        return caller;
    }
    // A container may have no entry for its user.
    const passwd* const entry = getpwuid(user);
    return entry != nullptr ? entry->pw_name : std::to_string(user);
}

}  // namespace

std::string host_name() {
    std::array<char, HOST_NAME_MAX + 1> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) {
        host = {};
    }
    return host.data();
}

std::string user_at_host() {
    return user_name() + "@" + host_name();
}

management::Caller caller_of(RedisSession& session) {
    return {session, session.keys(), user_at_host()};
}

/// Prints the audit, the oldest entry first: columns or, with JSON, one object on a line for each
/// entry.
void print_audit(RedisSession& session, const CommandLine& line) {
    using namespace std::chrono_literals;
    constexpr std::size_t kEntriesPerPage = 100;
    const bool is_json = line.format() == Format::kJson;
    if (!line.id.empty()) {
        check_id(line.id);
    }
    ColumnLayout columns;
    Rows rows{{"TIME", "ACTOR", "ACTION", "ID", "DETAIL"}};
    std::string last;
    while (true) {
        const auto page = complete(management::read_audit(
            session, session.keys(), {.after = last, .limit = kEntriesPerPage, .id = line.id}));
        std::string json;
        for (const auto& stored : page.entries) {
            if (is_json) {
                json += json_line([&](JsonWriter& writer) { write_entry(writer, stored); });
            } else {
                rows.push_back(row_of(stored));
            }
        }
        require_print(is_json ? json : columns.lines(rows));
        rows.clear();
        last = page.last;
        if (!page.has_more && !line.follow) {
            return;
        }
        if (!page.has_more) {
            session.wait(500ms, [](const auto&) {});
        }
    }
}

}  // namespace tollgate::cli
