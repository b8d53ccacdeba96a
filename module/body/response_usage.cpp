#include "module/body/response_usage.hpp"

#include <algorithm>
#include <limits>

#include "module/text/ascii.hpp"

namespace tollgate::body {

namespace {

/// UTF-8's byte order mark, which may precede both formats.
constexpr std::string_view kMark = "\xef\xbb\xbf";

/// Adds the second value; empty if the sum is too large.
NumberSearch::Value sum_of(std::int64_t sum, std::int64_t value) {
    return value > std::numeric_limits<std::int64_t>::max() - sum ? std::nullopt
                                                                  : std::optional(sum + value);
}

bool ends_with_ignoring_case(std::string_view text, std::string_view end) {
    return text.size() > end.size() &&
           equals_ignoring_case(text.substr(text.size() - end.size()), end);
}

}  // namespace

std::optional<Format> format_of(std::string_view media_type) {
    const auto type = media_type.substr(0, media_type.find_first_of("; \t"));
    if (equals_ignoring_case(type, "application/json") || ends_with_ignoring_case(type, "+json")) {
        return Format::kJson;
    }
    return equals_ignoring_case(type, "text/event-stream") ? std::optional(Format::kEventStream)
                                                           : std::nullopt;
}

void ResponseUsage::read(std::string_view piece) noexcept {
    while (mark_length_ < kMark.size() && !piece.empty()) {
        if (piece.front() != kMark[mark_length_]) {
            // What looked like a mark was none.
            read_after_mark(kMark.substr(0, mark_length_));
            mark_length_ = kMark.size();
            break;
        }
        ++mark_length_;
        piece.remove_prefix(1);
    }
    read_after_mark(piece);
}

void ResponseUsage::read_after_mark(std::string_view piece) {
    if (format_ == Format::kJson) {
        parser_.parse(piece);
    } else {
        events_.read(piece);
    }
}

void ResponseUsage::on_event_end() noexcept {
    if (parser_.is_complete()) {
        std::ranges::transform(
            numbers_.values(), of_events_, of_events_.begin(),
            [](NumberSearch::Value now, NumberSearch::Value before) { return now ? now : before; });
    }
    numbers_.restart();
    parser_.restart();
}

std::optional<std::int64_t> ResponseUsage::sum() const {
    NumberSearch::Value sum;
    if (has_given_up_) {
        return sum;
    }
    const auto last = numbers_.values();
    for (std::size_t i = 0; i < last.size(); ++i) {
        const auto value = parser_.is_complete() && last[i] ? last[i] : of_events_[i];
        if (value) {
            sum = sum_of(sum.value_or(0), *value);
            if (!sum) {
                return std::nullopt;
            }
        }
    }
    return sum;
}

}  // namespace tollgate::body
