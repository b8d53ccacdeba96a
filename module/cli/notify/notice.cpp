#include "module/cli/notify/notice.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "module/key/digest.hpp"
#include "module/plan/value_digest.hpp"
#include "module/plan/window.hpp"
#include "module/redis/protocol/schema.hpp"
#include "module/text/json_writer.hpp"
#include "module/text/rfc3339.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::cli {

namespace {

namespace field = redis::notice_field;
using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::int64_t kMost = kLatestInstant.time_since_epoch().count();

using redis::HashFields;

std::optional<std::int64_t> number_in(const HashFields& fields, std::string_view name) {
    return parse_whole_number(fields[name], 0, std::numeric_limits<std::int64_t>::max());
}

/// The id of the webhook that these fields identify.
std::string id_of(const HashFields& fields, std::span<const std::string_view> names) {
    constexpr std::size_t kDigits = 32;
    std::string identity;
    for (const auto name : names) {
        identity.append(name).append("=").append(fields[name]).append("\n");
    }
    if (const auto again = fields[field::kAgain]; !again.empty()) {
        identity.append(field::kAgain).append("=").append(again).append("\n");
    }
    return "notice_" + hex(sha256(identity)).substr(0, kDigits);
}

/// The text of a webhook: its type, the time of the notice, and its data.
template <typename WriteData>
std::string body_of(std::string_view type, sys_seconds time, WriteData write_data) {
    JsonWriter json;
    json.object([&] {
        json.member("type", type);
        json.member("timestamp", format_time(time));
        json.object("data", [&] { write_data(json); });
    });
    return std::move(json).take();
}

std::optional<Notice> read_threshold(const HashFields& fields, sys_seconds time) {
    // A level is noticed once for each higher limit within a window.
    constexpr std::array kIdentity{field::kId,     field::kTable, field::kValue, field::kPeriod,
                                   field::kNumber, field::kLevel, field::kLimit};
    const auto period = parse_stored_period(fields[field::kPeriod]);
    const auto level = number_in(fields, field::kLevel);
    const auto limit = number_in(fields, field::kLimit);
    const auto used = number_in(fields, field::kUsed);
    const auto number =
        period ? parse_whole_number(
                     fields[field::kNumber], 0,
                     period->is_balance() ? kMost : window_number(kLatestInstant, *period))
               : std::nullopt;
    if (!number || !level || !limit || !used) {
        return std::nullopt;
    }
    const auto text_of = [&](Instant time) {
        return period->is_balance() ? std::string()
                                    : format_time(std::chrono::floor<seconds>(time));
    };
    // When a month ends depends on the billing day.
    const auto ends = parse_whole_number(fields[field::kEnds], 1, kMost);
    const Instant end =
        ends ? Instant(std::chrono::milliseconds(*ends)) : window_end(*number, *period);
    auto body = body_of("quota.threshold_reached", time, [&](JsonWriter& json) {
        const auto value = fields[field::kValue];
        const bool is_of_group = ValueDigest::read(":" + std::string(value)).is_group();
        json.member(is_of_group ? "group" : "id", fields[field::kId]);
        json.member("table", fields[field::kTable]);
        if (!value.empty() && !is_of_group) {
            json.member("value", value);
        }
        json.member("period", period_name(*period));
        json.member_or_null("begin", text_of(window_start(*number, *period)));
        json.member_or_null("end", text_of(end));
        json.member("level", *level);
        json.member("limit", *limit);
        json.member("used", *used);
    });
    return Notice{
        .entry = {}, .id = id_of(fields, kIdentity), .body = std::move(body), .noted = time};
}

std::optional<Notice> read_expiry(const HashFields& fields, sys_seconds time) {
    // Not the digest: a rotation during an overlap makes another key with the same expiry.
    constexpr std::array kIdentity{field::kId, field::kExpires, field::kLevel};
    const auto level = number_in(fields, field::kLevel);
    const auto expires = parse_whole_number(fields[field::kExpires], 0, kMost / 1000);
    if (!level || !expires) {
        return std::nullopt;
    }
    auto body = body_of("key.expires_soon", time, [&](JsonWriter& json) {
        json.member("id", fields[field::kId]);
        json.member("expires", format_time(sys_seconds(seconds(*expires))));
        json.member("days", *level);
    });
    return Notice{
        .entry = {}, .id = id_of(fields, kIdentity), .body = std::move(body), .noted = time};
}

}  // namespace

std::optional<Notice> read_notice(const redis::Value& entry) {
    if (entry.elements.size() != 2) {
        return std::nullopt;
    }
    const std::string& id = entry.elements[0].text;
    const auto fields = entry.elements[1].fields();
    // An entry that was moved has the id of the one before in a field.
    const auto moved = fields[field::kMoved];
    const std::string_view first = moved.empty() ? std::string_view(id) : moved;
    const auto time = parse_whole_number(first.substr(0, first.find('-')), 0, kMost);
    if (!time || fields[field::kId].empty()) {
        return std::nullopt;
    }
    const sys_seconds noted(std::chrono::floor<seconds>(std::chrono::milliseconds(*time)));
    auto notice = fields.contains(field::kDigest) ? read_expiry(fields, noted)
                                                  : read_threshold(fields, noted);
    if (notice) {
        notice->entry = id;
    }
    return notice;
}

}  // namespace tollgate::cli
