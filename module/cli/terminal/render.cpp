#include "module/cli/terminal/render.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "module/cli/terminal/json_value.hpp"
#include "module/cli/terminal/result_format.hpp"
#include "module/cli/terminal/text_layout.hpp"
#include "module/cli/terminal/time_text.hpp"
#include "module/management/key_json.hpp"
#include "module/plan/rate.hpp"
#include "module/redis/protocol/record_fields.hpp"
#include "module/text/rfc3339.hpp"

namespace tollgate::cli {

namespace {

/// The keys of one id as a JSON object.
Json object_of(const management::KeysOfId& keys, std::chrono::sys_seconds now) {
    return Json::parse(written_object([&](JsonWriter& json) { write_key(json, keys, now); }));
}

/// What `--json` prints of the members that `write` writes.
template <typename Write>
std::string document_of(const Write& write) {
    return json_document(Json::parse(written_object(write)));
}

/// What `--json` prints of an array of items. `write` writes the members of each item.
template <typename Item>
std::string document_of_all(const std::vector<Item>& items,
                            void (*write)(JsonWriter&, const Item&)) {
    Json all = Json::array();
    for (const auto& item : items) {
        all.push_back(Json::parse(written_object([&](JsonWriter& json) { write(json, item); })));
    }
    return json_document(all);
}

/// The last use of any key of an id.
std::optional<std::chrono::sys_seconds> last_use(const management::KeysOfId& keys) {
    std::optional<std::chrono::sys_seconds> last;
    for (const auto& key : keys.keys) {
        last = std::max(last, key.used);
    }
    return last;
}

/// What a table shows of the keys of one id. `found` is the digest to mark; empty: none.
Rows rows_of(const management::KeysOfId& keys, std::chrono::sys_seconds now,
             std::string_view found) {
    Rows rows{{"id", keys.id}, {"state", std::string(state_of(keys, now))}};
    if (!keys.keys.empty()) {
        const management::StoredKey& current = keys.keys.front();
        for (const auto& field : redis::record_fields()) {
            if (field.is_settable && field.form != redis::FieldForm::kState) {
                rows.push_back({std::string(field.name),
                                text_or_dash(redis::shown_text(field, current.record))});
            }
        }
        rows.push_back({"created", format_time(current.issue_time())});
    }
    for (const auto& key : keys.keys) {
        rows.push_back(
            {"sha256",
             key.digest + "  hint " + text_or_dash(key.hint) + "  created " +
                 format_time(key.created) + "  used " + text_or_dash(key.used) +
                 (key.record.retiring ? "  until " + text_or_dash(key.record.expires) : "") +
                 (key.digest == found ? "  (this key)" : "")});
    }
    return rows;
}

constexpr std::array kKeyListHead{"ID",     "NAME",    "PLAN",    "STATE",
                                  "LIMITS", "CREATED", "EXPIRES", "USED"};

/// The least important column is shortened first, then left out. The id, the plan and the state
/// remain.
constexpr std::array kKeyListNarrowings{Narrowing{5, 10}, Narrowing{6, 10}, Narrowing{7, 10},
                                        Narrowing{4, 8},  Narrowing{1, 12}, Narrowing{5, 0},
                                        Narrowing{4, 0},  Narrowing{7, 0},  Narrowing{1, 0}};

/// Indents a JSON text by two spaces, for an element of a list.
std::string indented(std::string text) {
    for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
        text.insert(at + 1, "  ");
    }
    return "  " + text;
}

/// What follows the lines about an id or a group.
std::string windows_text(const std::vector<management::WindowUsage>& windows,
                         std::chrono::sys_seconds now) {
    if (windows.empty()) {
        return "\nNothing is counted.\n";
    }
    Rows rows{{"TABLE", "WINDOW", "LIMIT", "USED", "LEASED", "REMAINING", "PREVIOUS", "RESET"}};
    for (const auto& window : windows) {
        const std::string reset = window.reset ? format_time(*window.reset) + " (" +
                                                     format_duration(*window.reset - now) + ")"
                                               : "never";
        std::string limit = window.is_unlimited ? "unlimited" : text_or_dash(window.limit);
        if (!window.unit.empty() && window.unit != kRequests) {
            limit.append(" ").append(window.unit);
        }
        limit.append(window.is_soft ? " (soft)" : "");
        rows.push_back({window.table, name_of(window), std::move(limit),
                        std::to_string(window.used), std::to_string(window.leased),
                        text_or_dash(remaining(window)), text_or_dash(window.previous), reset});
    }
    return "\n" + align_columns(rows);
}

/// Adds the fields that set the quotas of an id or a group.
void add_quota_fields(Rows& rows, const KeyRecord& record) {
    for (const auto& field : redis::record_fields()) {
        if (field.sets_quotas) {
            rows.push_back(
                {std::string(field.name), text_or_dash(redis::shown_text(field, record))});
        }
    }
}

std::string record_text(const management::GroupRecord& group) {
    Rows rows{{"group", group.id}};
    add_quota_fields(rows, management::record_of(group));
    return align_columns(rows);
}

/// The usage of a group: its own output, and the end of that of its ids.
std::string group_text(const management::GroupUsage& usage) {
    return record_text(usage.group) + windows_text(usage.windows, usage.now);
}

}  // namespace

std::string render_usage(Format format, const management::KeyUsage& usage) {
    if (format == Format::kJson) {
        return document_of([&](JsonWriter& json) { write_usage(json, usage); });
    }
    const auto& id = usage.keys.id;
    const KeyRecord record = usage.keys.keys.empty() ? KeyRecord{} : usage.keys.keys.front().record;
    Rows about{{"id", id}};
    add_quota_fields(about, record);
    about.push_back({"state", std::string(state_of(usage.keys, usage.now))});
    if (usage.ban.until) {
        about.push_back({"banned", "until " + format_time(*usage.ban.until)});
    }
    for (const auto& flight : usage.flights) {
        about.push_back({"in flight", std::to_string(flight.places) + " of " +
                                          text_or_dash(flight.limit) + " in " + flight.table});
    }
    auto text = align_columns(about);
    const bool is_of_group = usage.group && !usage.group->windows.empty();
    if (!usage.windows.empty() || !is_of_group) {
        text += windows_text(usage.windows, usage.now);
    }
    return is_of_group ? text + "\n" + group_text(*usage.group) : text;
}

std::string render_group_usage(Format format, const management::GroupUsage& usage) {
    if (format == Format::kJson) {
        return document_of([&](JsonWriter& json) { write_group_usage(json, usage); });
    }
    return group_text(usage);
}

std::string render_history(Format format, const std::string& id,
                           const management::UsageHistory& history) {
    if (format == Format::kJson) {
        return document_of([&](JsonWriter& json) { write_history(json, id, history); });
    }
    if (history.empty()) {
        return "No history is kept, or nothing was granted.\n";
    }
    Rows rows{{"DAY", "TABLE", "UNITS"}};
    for (const auto& day : history) {
        rows.push_back({management::format_day(day.day), day.table, std::to_string(day.units)});
    }
    return align_columns(rows);
}

std::string render_credited(Format format, const std::string& owner,
                            const management::Credited& credited) {
    if (format == Format::kJson) {
        return document_of([&](JsonWriter& json) {
            json.member("id", owner);
            write_credited(json, credited);
        });
    }
    return align_columns({{"id", owner},
                          {"table", credited.table},
                          {"unit", credited.unit},
                          {"credited", std::to_string(credited.credited) +
                                           (credited.is_repeated ? " (no change: repeated)" : "")},
                          {"left", std::to_string(credited.left)}});
}

std::string render_ban(Format format, const management::KeyBan& ban) {
    if (format == Format::kJson) {
        return document_of([&](JsonWriter& json) { write_ban(json, ban); });
    }
    return align_columns({{"id", ban.id},
                          {"banned", ban.until ? "until " + format_time(*ban.until) : "no"},
                          {"level", std::to_string(ban.level)},
                          {"strikes", std::to_string(ban.strikes) +
                                          (ban.since ? " since " + format_time(*ban.since) : "")}});
}

std::string render_bans(Format format, const std::vector<management::KeyBan>& bans) {
    if (format == Format::kJson) {
        return document_of_all(bans, management::write_ban);
    }
    Rows rows{{"ID", "UNTIL", "LEVEL"}};
    for (const auto& ban : bans) {
        rows.push_back(
            {ban.id, ban.until ? format_time(*ban.until) : "-", std::to_string(ban.level)});
    }
    return align_columns(rows);
}

std::string render_group(Format format, const management::GroupRecord& group) {
    if (format == Format::kJson) {
        return document_of([&](JsonWriter& json) { write_group(json, group); });
    }
    return record_text(group);
}

std::string render_groups(Format format, const std::vector<management::GroupRecord>& groups) {
    if (format == Format::kJson) {
        return document_of_all(groups, management::write_group);
    }
    Rows rows{{"GROUP", "PLAN", "LIMITS"}};
    for (const auto& group : groups) {
        rows.push_back({group.id, text_or_dash(group.plan), text_or_dash(group.limits)});
    }
    return align_columns(rows);
}

std::string render_issued(Format format, const management::KeysOfId& keys,
                          std::chrono::sys_seconds now, const std::string& key) {
    if (format == Format::kText) {
        return key + "\n";
    }
    Json json = {{"key", key}};
    json.update(object_of(keys, now));
    return json_document(json);
}

std::string render_key(Format format, const management::KeysOfId& keys,
                       std::chrono::sys_seconds now, const std::string& found) {
    if (format == Format::kText) {
        return align_columns(rows_of(keys, now, found));
    }
    Json json = Json::object();
    if (!found.empty()) {
        json["sha256"] = found;
    }
    json.update(object_of(keys, now));
    return json_document(json);
}

KeyListText::KeyListText(Format format, std::chrono::sys_seconds now,
                         std::optional<std::size_t> width)
    : format_(format), now_(now) {
    if (width) {
        columns_ = ColumnLayout(*width, kKeyListNarrowings);
    }
}

std::string KeyListText::next(const std::vector<management::KeysOfId>& ids) {
    std::string text;
    if (format_ == Format::kJson) {
        for (const auto& keys : ids) {
            text.append(begun_ ? ",\n" : "[\n").append(indented(json_text(object_of(keys, now_))));
            begun_ = true;
        }
        return text;
    }
    Rows rows;
    if (!begun_) {
        rows.push_back({kKeyListHead.begin(), kKeyListHead.end()});
        begun_ = true;
    }
    for (const auto& keys : ids) {
        const management::StoredKey current =
            keys.keys.empty() ? management::StoredKey{} : keys.keys.front();
        const KeyRecord& record = current.record;
        rows.push_back({keys.id, text_or_dash(record.name), text_or_dash(record.plan),
                        std::string(state_of(keys, now_)), text_or_dash(record.limits),
                        keys.keys.empty() ? "-" : format_time(current.issue_time()),
                        text_or_dash(record.expires), text_or_dash(last_use(keys))});
    }
    return columns_.lines(rows);
}

std::string KeyListText::end() {
    if (format_ == Format::kJson) {
        return begun_ ? "\n]\n" : "[]\n";
    }
    return begun_ ? "" : next({});
}

}  // namespace tollgate::cli
