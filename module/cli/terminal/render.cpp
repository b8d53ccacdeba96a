#include "module/cli/terminal/render.hpp"

#include <algorithm>
#include <optional>

#include "module/cli/terminal/json_document.hpp"
#include "module/cli/terminal/render_fields.hpp"
#include "module/cli/terminal/render_key.hpp"
#include "module/cli/terminal/table.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/quota/rate.hpp"

namespace tollgate::cli {

namespace {

std::optional<std::int64_t> remaining(const WindowUsage& window) {
    if (!window.limit) {
        return std::nullopt;
    }
    return std::max<std::int64_t>(*window.limit - window.used, 0);
}

}  // namespace

std::string render_usage(Format format, const KeyUsage& usage) {
    const auto& id = usage.keys.id;
    const KeyRecord record = usage.keys.keys.empty() ? KeyRecord{} : usage.keys.keys.front().record;
    if (format == Format::kJson) {
        Json windows = Json::array();
        for (const auto& window : usage.windows) {
            windows.push_back({{"table", window.table},
                               {"window", period_name(window.period)},
                               {"seconds", window.period.count()},
                               {"count", window.count},
                               {"previous", json_of(window.previous)},
                               {"limit", json_of(window.limit)},
                               {"used", window.used},
                               {"remaining", json_of(remaining(window))},
                               {"reset", format_time(window.reset)}});
        }
        return document({{"id", id},
                         {"plan", json_of(record.plan)},
                         {"limits", json_of(record.limits)},
                         {"state", state_of(usage.keys, usage.now)},
                         {"banned_until", json_of(usage.ban.until)},
                         {"complete", usage.complete},
                         {"windows", std::move(windows)}});
    }
    Rows about{{"id", id},
               {"plan", text_of(record.plan)},
               {"limits", text_of(record.limits)},
               {"state", state_of(usage.keys, usage.now)}};
    if (usage.ban.until) {
        about.push_back({"banned", "until " + format_time(*usage.ban.until)});
    }
    if (usage.windows.empty()) {
        return align(about) + "\nNothing is counted.\n";
    }
    Rows rows{{"TABLE", "WINDOW", "LIMIT", "USED", "REMAINING", "PREVIOUS", "RESET"}};
    for (const auto& window : usage.windows) {
        const auto rest = window.reset - usage.now;
        rows.push_back({window.table, period_name(window.period), text_of(window.limit),
                        std::to_string(window.used), text_of(remaining(window)),
                        text_of(window.previous),
                        format_time(window.reset) + " (" + format_span(rest) + ")"});
    }
    return align(about) + "\n" + align(rows);
}

std::string render_ban(Format format, const KeyBan& ban) {
    if (format == Format::kJson) {
        return document({{"id", ban.id},
                         {"banned", ban.until.has_value()},
                         {"until", json_of(ban.until)},
                         {"level", ban.level},
                         {"strikes", ban.strikes},
                         {"since", json_of(ban.since)}});
    }
    return align({{"id", ban.id},
                  {"banned", ban.until ? "until " + format_time(*ban.until) : "no"},
                  {"level", std::to_string(ban.level)},
                  {"strikes", std::to_string(ban.strikes) +
                                  (ban.since ? " since " + format_time(*ban.since) : "")}});
}

}  // namespace tollgate::cli
