#include "module/redis/protocol/command.hpp"

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

void append_line(std::string& out, char type, std::size_t number) {
    out.append(1, type).append(Digits(static_cast<std::int64_t>(number))).append("\r\n");
}

}  // namespace

void Words::add(std::string_view word) {
    add_joined({&word, 1});
}

void Words::add_joined(std::span<const std::string_view> parts) {
    std::size_t length = 0;
    for (const auto part : parts) {
        length += part.size();
    }
    append_line(bytes_, '$', length);
    for (const auto part : parts) {
        bytes_ += part;
    }
    bytes_ += "\r\n";
    ++size_;
}

void Words::add_number(std::int64_t number) {
    add(Digits(number));
}

void Words::add(const Words& words) {
    bytes_ += words.bytes_;
    size_ += words.size_;
}

void append_command(std::string& out, const Words& words) {
    append_line(out, '*', words.size());
    out += words.bytes();
}

}  // namespace tollgate::redis
