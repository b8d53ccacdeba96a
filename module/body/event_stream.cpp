#include "module/body/event_stream.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tollgate::body {

namespace {

constexpr std::string_view kData = "data";

bool ends_line(char c) {
    return c == '\n' || c == '\r';
}

}  // namespace

void EventStream::read(std::string_view piece) noexcept {
    while (!piece.empty()) {
        if (std::exchange(ended_with_return_, false) && piece.front() == '\n') {
            piece.remove_prefix(1);
            continue;
        }
        const auto end =
            static_cast<std::size_t>(std::ranges::find_if(piece, ends_line) - piece.begin());
        read_part(piece.substr(0, end));
        if (end == piece.size()) {
            return;
        }
        ended_with_return_ = piece[end] == '\r';
        end_line();
        piece.remove_prefix(end + 1);
    }
}

/// A part of one line.
void EventStream::read_part(std::string_view part) {
    while (!part.empty() && state_ == State::kName) {
        read_name(part.front());
        part.remove_prefix(1);
    }
    if (!part.empty() && state_ == State::kSpace) {
        part.remove_prefix(part.front() == ' ' ? 1 : 0);
        state_ = State::kValue;
    }
    if (!part.empty() && state_ == State::kValue) {
        handler_.on_data(part);
    }
}

void EventStream::read_name(char c) {
    if (name_length_ < kData.size() && c == kData[name_length_]) {
        ++name_length_;
    } else if (name_length_ == kData.size() && c == ':') {
        state_ = State::kSpace;
        begin_data();
    } else {
        state_ = State::kSkip;
    }
}

/// A line without a colon is the name of a field with an empty value.
void EventStream::end_line() {
    if (state_ == State::kName && name_length_ == kData.size()) {
        begin_data();
    }
    if (state_ == State::kName && name_length_ == 0 && std::exchange(has_data_, false)) {
        handler_.on_event_end();
    }
    state_ = State::kName;
    name_length_ = 0;
}

void EventStream::begin_data() {
    if (std::exchange(has_data_, true)) {
        handler_.on_data("\n");
    }
}

}  // namespace tollgate::body
