#include "module/management/audit.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

#include "module/text/rfc3339.hpp"
#include "module/text/utf8.hpp"

namespace tollgate::management {

namespace {

namespace entry_field = redis::audit_field;

/// Whether this is a place before the last possible one: two numbers of 64 bits.
bool is_place(std::string_view text) {
    const auto is_number = [](std::string_view part) {
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
        return error == std::errc() && end == part.data() + part.size() &&
               number < std::numeric_limits<std::uint64_t>::max();
    };
    const auto dash = text.find('-');
    return dash != std::string_view::npos && is_number(text.substr(0, dash)) &&
           is_number(text.substr(dash + 1));
}

/// A detail with at most kLongestDetail bytes. It has whole characters.
std::string shortened(std::string detail) {
    constexpr std::string_view kCut = "…";
    if (detail.size() <= kLongestDetail) {
        return detail;
    }
    std::size_t end = kLongestDetail - kCut.size();
    while (end > 0 && continues_character(detail[end])) {
        --end;
    }
    detail.replace(end, std::string::npos, kCut);
    return detail;
}

StoredEntry read_entry(const redis::Value& value) {
    if (value.elements.size() != 2) {
        throw unexpected_reply();
    }
    auto fields = value.elements.back().fields();
    return {.place = value.elements.front().text,
            .entry = {.actor = std::string(fields[entry_field::kActor]),
                      .action = std::string(fields[entry_field::kAction]),
                      .id = std::string(fields[entry_field::kId]),
                      .detail = std::string(fields[entry_field::kDetail])}};
}

}  // namespace

std::chrono::sys_seconds StoredEntry::time() const {
    const auto milliseconds =
        redis::number_or_zero(std::string_view(place).substr(0, place.find('-')));
    return std::chrono::floor<std::chrono::seconds>(
        std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(milliseconds)));
}

Task<AuditPage> read_audit(Database& database, const redis::Keys& keys, std::string after,
                           std::size_t limit, std::string id) {
    // A filter that few entries pass must not read all.
    constexpr int kMostReads = 40;
    // Each entry may have about 1 kB.
    constexpr std::size_t kEntriesPerRead = 25;
    if (!after.empty() && !is_place(after)) {
        refuse("after: use the value of \"next\"");
    }
    AuditPage page{.entries = {}, .last = std::move(after), .has_more = true};
    for (int reads = 0; reads < kMostReads && page.has_more && page.entries.size() < limit;
         ++reads) {
        const auto count =
            id.empty() ? std::min(limit - page.entries.size(), kEntriesPerRead) : kEntriesPerRead;
        // XRANGE of Redis 6.2 and later takes `(`: after this entry.
        redis::Command command{"XRANGE", keys.audit(), page.last.empty() ? "-" : "(" + page.last,
                               "+",      "COUNT",      std::to_string(count)};
        const auto found = co_await run(database, std::move(command));
        page.has_more = found.elements.size() == count;
        for (const auto& value : found.elements) {
            auto stored = read_entry(value);
            page.last = stored.place;
            if (id.empty() || stored.entry.id == id) {
                page.entries.push_back(std::move(stored));
                if (page.entries.size() == limit) {
                    page.has_more = page.has_more || &value != &found.elements.back();
                    break;
                }
            }
        }
    }
    co_return page;
}

void write_entry(JsonWriter& json, const StoredEntry& stored) {
    json.member("place", stored.place);
    json.member("time", format_time(stored.time()));
    json.member("actor", stored.entry.actor);
    json.member("action", stored.entry.action);
    json.member("id", stored.entry.id);
    json.member("detail", stored.entry.detail);
}

redis::Command add_to_audit(const redis::Keys& keys, const AuditEntry& entry) {
    redis::Command command{"XADD", keys.audit(), "MAXLEN", "~", "100000", "*"};
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) {
            command.insert(command.end(), {std::string(name), value});
        }
    };
    add(entry_field::kActor, entry.actor);
    add(entry_field::kAction, entry.action);
    add(entry_field::kId, entry.id);
    add(entry_field::kDetail, shortened(entry.detail));
    return command;
}

}  // namespace tollgate::management
