#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tollgate::body {

/// Shortens the long strings of a JSON text (RFC 8259), so that its parser, which keeps a token
/// until it is complete, keeps little. Knows only where strings begin and end. Of a long string, it
/// leaves the first bytes: at least kKeptBytes, which end with a whole escape sequence.
class TokenCutter {
  public:
    /// Each byte of a name takes at most 8 bytes in the text. So what is left of a longer name is
    /// longer than each name of a JSON pointer.
    static constexpr std::size_t kKeptBytes = 1024;
    /// The longest number. A longer one is an error of the text here.
    static constexpr std::size_t kLongestNumber = 256;

    /// Passes the next piece of the text to `sink`, without what is cut, in one or more pieces that
    /// are not empty. Returns false if there is a token that is too long, or if `sink` does.
    template <typename Sink>
    bool pass(std::string_view piece, Sink sink) {
        while (!piece.empty()) {
            const std::size_t kept = keep(piece);
            if (kept == kTooLong || (kept != 0 && !sink(piece.substr(0, kept)))) {
                return false;
            }
            piece.remove_prefix(kept);
            piece.remove_prefix(state_ == State::kCut ? skip(piece) : 0);
        }
        return true;
    }

    /// Whether no token is incomplete at the end of the text so far.
    bool is_between_tokens() const { return state_ == State::kOutside && length_ == 0; }

  private:
    enum class State : std::uint8_t { kOutside, kString, kEscape, kHex, kCut };

    static constexpr std::size_t kTooLong = std::string_view::npos;

    /// The number of bytes up to the cut. kTooLong if a token outside of strings is too long.
    std::size_t keep(std::string_view piece);
    std::size_t keep_outside(std::string_view piece, std::size_t i);
    std::size_t keep_string(std::string_view piece, std::size_t i);
    /// The number of bytes up to the end of the string that is cut.
    std::size_t skip(std::string_view piece);

    State state_ = State::kOutside;
    std::uint8_t hex_left_ = 0;  ///< digits of \uXXXX that are to come
    bool is_escaped_ = false;    ///< kCut: the next byte follows a backslash that escapes it
    std::size_t length_ = 0;     ///< of the token so far
};

}  // namespace tollgate::body
