#include "module/cli/keys/audit_log.hpp"

#include "module/cli/keys/operation_failure.hpp"
#include "module/cli/terminal/printable.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/management/audit.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::cli {

namespace {

std::string line_of(const management::StoredEntry& stored) {
    const auto& entry = stored.entry;
    std::string line = format_time(stored.time());
    for (const auto* text : {&entry.actor, &entry.action, &entry.id, &entry.detail}) {
        line += "  " + (text->empty() ? "-" : printable(*text));
    }
    return line + "\n";
}

std::string json_line_of(const management::StoredEntry& stored) {
    JsonWriter json;
    json.object([&] { write_entry(json, stored); });
    return printable_json(std::move(json).take()) + "\n";
}

}  // namespace

void print_audit(management::Database& database, const redis::Keys& keys, Format format,
                 const std::string& id, bool follows) {
    using namespace std::chrono_literals;
    constexpr std::size_t kEntriesPerPage = 100;
    std::string last;
    while (true) {
        const auto page =
            complete(management::read_audit(database, keys, last, kEntriesPerPage, id));
        std::string lines;
        for (const auto& stored : page.entries) {
            lines += format == Format::kJson ? json_line_of(stored) : line_of(stored);
        }
        require_print(lines);
        last = page.last;
        if (!page.has_more && !follows) {
            return;
        }
        if (!page.has_more) {
            database.wait(500ms, [](const auto&) {});
        }
    }
}

}  // namespace tollgate::cli
