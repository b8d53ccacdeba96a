#include "module/cli/keys/audit_log.hpp"

#include "module/cli/keys/operation_failure.hpp"
#include "module/cli/terminal/printable.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/management/audit.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::cli {

namespace {

std::vector<std::string> row_of(const management::StoredEntry& stored) {
    const auto& entry = stored.entry;
    return {format_time(stored.time()), text_or_dash(entry.actor), text_or_dash(entry.action),
            text_or_dash(entry.id), text_or_dash(entry.detail)};
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
    ColumnLayout columns;
    Rows rows{{"TIME", "ACTOR", "ACTION", "ID", "DETAIL"}};
    std::string last;
    while (true) {
        const auto page =
            complete(management::read_audit(database, keys, last, kEntriesPerPage, id));
        std::string json;
        for (const auto& stored : page.entries) {
            if (format == Format::kJson) {
                json += json_line_of(stored);
            } else {
                rows.push_back(row_of(stored));
            }
        }
        require_print(format == Format::kJson ? json : columns.lines(rows));
        rows.clear();
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
