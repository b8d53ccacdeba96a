#include "module/body/token_cutter.hpp"

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
    for (std::size_t i = 0; i < piece.size(); ++i) {
        const char c = piece[i];
        switch (state_) {
            case State::kOutside:
                if (c == '"') {
                    state_ = State::kString;
                    length_ = 0;
                } else if (kSeparators[static_cast<unsigned char>(c)]) {
                    length_ = 0;
                } else if (++length_ > kLongestNumber) {
                    return kTooLong;
                }
                continue;
            case State::kString:
                if (c == '"') {
                    state_ = State::kOutside;
                    length_ = 0;
                    continue;
                }
                if (c == '\\') {
                    state_ = State::kEscape;
                }
                break;
            case State::kEscape:
                state_ = c == 'u' ? State::kHex : State::kString;
                hex_left_ = kHexDigits;
                break;
            case State::kHex:
                if (--hex_left_ == 0) {
                    state_ = State::kString;
                }
                break;
            case State::kCut:
                return i;
        }
        if (++length_ >= kKeptBytes && state_ == State::kString) {
            state_ = State::kCut;
            is_escaped_ = false;
            return i + 1;
        }
    }
    return piece.size();
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
            return quote;
        }
        begin = quote + 1;
    }
}

}  // namespace tollgate::body
