#include "module/redis/protocol/command.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace tollgate::redis {

namespace {

constexpr std::size_t kLongestNumber = 20;

/// A number in decimal.
class Digits {
  public:
    explicit Digits(std::int64_t number)
        : end_(std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr) {}
    operator std::string_view() const { return {text_.data(), end_}; }

  private:
    std::array<char, kLongestNumber> text_;
    const char* end_;
};

char* write_end_of_line(char* to) {
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

/// The type of what follows, and its length. Most lengths have one or two digits.
char* write_line(char* to, char type, std::size_t number) {
    constexpr std::size_t kTen = 10;
    *to++ = type;
    if (number < kTen * kTen) {
        if (number >= kTen) {
            *to++ = static_cast<char>('0' + number / kTen);
        }
        *to++ = static_cast<char>('0' + number % kTen);
    } else {
        to = std::to_chars(to, to + kLongestNumber, number).ptr;
    }
    return write_end_of_line(to);
}

/// Appends from `begin` to `end`. The function of std::string with two iterators takes twice as
/// long, because it can also replace.
void append(std::string& text, const char* begin, const char* end) {
    text.append(begin, static_cast<std::size_t>(end - begin));
}

/// The type, the digits of a length and the end of the line.
constexpr std::size_t kLongestLine = 1 + kLongestNumber + 2;

}  // namespace

void Words::add(std::string_view word) {
    add_joined({&word, 1});
}

void Words::add_joined(std::span<const std::string_view> parts) {
    std::size_t length = 0;
    for (const auto part : parts) {
        length += part.size();
    }
    const auto write = [&](char* to) {
        to = write_line(to, '$', length);
        for (const auto part : parts) {
            to = std::copy(part.begin(), part.end(), to);
        }
        return write_end_of_line(to);
    };
    // Most words are short. To append one takes less time than to change the size twice.
    constexpr std::size_t kShort = 128;
    if (length <= kShort) {
        std::array<char, kLongestLine + kShort + 2> word;  // NOLINT(*-member-init): written
        append(bytes_, word.data(), write(word.data()));
    } else {
        const std::size_t begin = bytes_.size();
        bytes_.resize(begin + kLongestLine + length + 2);
        bytes_.resize(static_cast<std::size_t>(write(bytes_.data() + begin) - bytes_.data()));
    }
    ++size_;
}

void Words::add_number(std::int64_t number) {
    std::array<char, kLongestLine + kLongestNumber + 2> word;  // NOLINT(*-member-init): written
    const Digits digits(number);
    const std::string_view text = digits;
    char* to = write_line(word.data(), '$', text.size());
    to = std::copy(text.begin(), text.end(), to);
    append(bytes_, word.data(), write_end_of_line(to));
    ++size_;
}

void Words::add(const Words& words) {
    bytes_ += words.bytes_;
    size_ += words.size_;
}

void append_command(std::string& out, const Words& words) {
    std::array<char, kLongestLine> line;  // NOLINT(*-member-init): written at once
    append(out, line.data(), write_line(line.data(), '*', words.size()));
    out += words.bytes();
}

}  // namespace tollgate::redis
