#include "module/body/value_reader.hpp"

#include <algorithm>

#include "module/text/ascii.hpp"

namespace tollgate::body {

namespace {

/// UTF-8's byte order mark, which may precede both formats.
constexpr std::string_view kMark = "\xef\xbb\xbf";

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

void ValueReader::read(std::string_view piece) noexcept {
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

void ValueReader::read_after_mark(std::string_view piece) {
    if (format_ == Format::kJson) {
        parser_.parse(piece);
    } else {
        events_.read(piece);
    }
}

void ValueReader::on_event_end() noexcept {
    const auto values = values_.values();
    for (std::size_t i = 0; i < values.size() && parser_.is_complete(); ++i) {
        of_events_[i] = values[i].text().empty() ? of_events_[i] : values[i];
    }
    values_.restart();
    parser_.restart();
}

std::string_view ValueReader::first_of(std::size_t first, std::size_t count) const {
    const auto values = values_.values();
    for (std::size_t i = first; i < first + count && !has_given_up_; ++i) {
        const bool is_last = parser_.is_complete() && !values[i].text().empty();
        if (is_last || (!of_events_.empty() && !of_events_[i].text().empty())) {
            return is_last ? values[i].text() : of_events_[i].text();
        }
    }
    return {};
}

}  // namespace tollgate::body
