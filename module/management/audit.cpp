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
    const auto fields = value.elements.back().fields();
    return {.place = value.elements.front().text,
            .entry = {.actor = std::string(fields[entry_field::kActor]),
                      .action = std::string(fields[entry_field::kAction]),
                      .id = std::string(fields[entry_field::kId]),
                      .detail = std::string(fields[entry_field::kDetail]),
                      .request = std::string(fields[entry_field::kRequest]),
                      .before = std::string(fields[entry_field::kBefore])}};
}

/// Each entry may have about 1 kB.
constexpr std::size_t kEntriesPerRead = 25;

bool is_filter(const AuditQuery& query) {
    return !query.id.empty() || !query.actor.empty();
}

bool matches(const AuditQuery& query, const StoredEntry& stored) {
    return (query.id.empty() || stored.entry.id == query.id) &&
           (query.actor.empty() || stored.entry.actor == query.actor) &&
           (!query.from || stored.time() >= *query.from) &&
           (!query.to || stored.time() <= *query.to);
}

/// The place of the first or the last entry of a second, as XRANGE takes it: no entry is older than
/// 1970.
std::string bound(std::optional<std::chrono::sys_seconds> second, std::chrono::milliseconds within,
                  std::string_view otherwise) {
    const auto earliest = std::chrono::milliseconds::zero();
    return second ? std::to_string(std::max(earliest, second->time_since_epoch() + within).count())
                  : std::string(otherwise);
}

redis::Command range_command(const std::string& stream, const AuditQuery& query,
                             const std::string& after, std::size_t count) {
    using namespace std::chrono_literals;
    std::string first = bound(query.from, 0ms, "-");
    std::string last = bound(query.to, 999ms, "+");
    if (!after.empty()) {
        // Redis 6.2 and later take `(`: without this entry.
        (query.is_descending ? last : first) = "(" + after;
    }
    if (query.is_descending) {
        return {"XREVRANGE", stream, last, first, "COUNT", std::to_string(count)};
    }
    return {"XRANGE", stream, first, last, "COUNT", std::to_string(count)};
}

}  // namespace

std::chrono::sys_seconds StoredEntry::time() const {
    const auto milliseconds =
        redis::number_or_zero(std::string_view(place).substr(0, place.find('-')));
    return std::chrono::floor<std::chrono::seconds>(
        std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(milliseconds)));
}

Task<AuditPage> read_audit(Database& database, const redis::Keys& keys, AuditQuery query) {
    // A filter that few entries pass must not read all.
    constexpr int kMostReads = 40;
    if (!query.after.empty() && !is_place(query.after)) {
        refuse_cursor();
    }
    AuditPage page{.entries = {}, .last = query.after, .has_more = true};
    for (int reads = 0; reads < kMostReads && page.has_more && page.entries.size() < query.limit;
         ++reads) {
        const auto count = is_filter(query)
                               ? kEntriesPerRead
                               : std::min(query.limit - page.entries.size(), kEntriesPerRead);
        const auto found =
            co_await run(database, range_command(keys.audit(), query, page.last, count));
        page.has_more = found.elements.size() == count;
        for (const auto& value : found.elements) {
            auto stored = read_entry(value);
            page.last = stored.place;
            if (matches(query, stored)) {
                page.entries.push_back(std::move(stored));
                if (page.entries.size() == query.limit) {
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
    json.member_or_null("before", stored.entry.before);
    json.member_or_null("request", stored.entry.request);
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
    add(entry_field::kBefore, shortened(entry.before));
    add(entry_field::kRequest, entry.request);
    return command;
}

}  // namespace tollgate::management
