#include "module/body/token_cutter.hpp"

#include <algorithm>
#include <array>

namespace tollgate::body {

namespace {

constexpr std::array<bool, 256> make_separators() {
    std::array<bool, 256> separators{};
    for (const char c : std::string_view(" \t\r\n,:{}[]")) {
        separators[static_cast<unsigned char>(c)] = true;
    }
    return separators;
}

/// The bytes that end a number.
constexpr std::array<bool, 256> kSeparators = make_separators();

constexpr std::uint8_t kHexDigits = 4;

}  // namespace

std::size_t TokenCutter::keep(std::string_view piece) {
    std::size_t i = 0;
    while (i < piece.size() && state_ != State::kCut) {
        switch (state_) {
            case State::kOutside:
                i = keep_outside(piece, i);
                break;
            case State::kString:
                i = keep_string(piece, i);
                break;
            case State::kEscape:
                state_ = piece[i] == 'u' ? State::kHex : State::kString;
                hex_left_ = kHexDigits;
                ++length_;
                ++i;
                break;
            case State::kHex:
                state_ = --hex_left_ == 0 ? State::kString : State::kHex;
                ++length_;
                ++i;
                break;
            case State::kCut:
                break;
        }
    }
    return i;
}

/// Up to the begin of a string.
std::size_t TokenCutter::keep_outside(std::string_view piece, std::size_t i) {
    std::size_t length = length_;
    for (; i < piece.size() && piece[i] != '"'; ++i) {
        length = kSeparators[static_cast<unsigned char>(piece[i])] ? 0 : length + 1;
        if (length > kLongestNumber) {
            return kTooLong;
        }
    }
    if (i < piece.size()) {
        state_ = State::kString;
        length = 0;
        ++i;
    }
    length_ = length;
    return i;
}

/// Up to the end of a string, an escape sequence, or the cut.
std::size_t TokenCutter::keep_string(std::string_view piece, std::size_t i) {
    if (length_ >= kKeptBytes) {
        state_ = State::kCut;
        is_escaped_ = false;
        return i;
    }
    const std::size_t begin = i;
    const std::size_t end = std::min(piece.size(), i + (kKeptBytes - length_));
    while (i < end && piece[i] != '"' && piece[i] != '\\') {
        ++i;
    }
    length_ += i - begin;
    if (i == end) {
        return i;
    }
    if (piece[i] == '"') {
        state_ = State::kOutside;
        length_ = 0;
    } else {
        state_ = State::kEscape;
        ++length_;
    }
    return i + 1;
}

std::size_t TokenCutter::skip(std::string_view piece) {
    for (std::size_t begin = 0;;) {
        const std::size_t quote = piece.find('"', begin);
        const auto run = piece.substr(0, quote).substr(begin);
        const auto other = run.find_last_not_of('\\');
        const std::size_t backslashes =
            other == std::string_view::npos ? run.size() : run.size() - 1 - other;
        const bool is_whole = other == std::string_view::npos;
        const bool is_escaped = (backslashes % 2 != 0) != (is_whole && is_escaped_);
        if (quote == std::string_view::npos) {
            is_escaped_ = is_escaped;
            return piece.size();
        }
        is_escaped_ = false;
        if (!is_escaped) {
            state_ = State::kString;
            length_ = 0;  // The quote is kept.
            return quote;
        }
        begin = quote + 1;
    }
}

}  // namespace tollgate::body
