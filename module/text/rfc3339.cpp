#include "module/text/rfc3339.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace tollgate {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view kDigits = "0123456789";

/// The years of RFC 3339 have four digits. An offset may lead out of them.
constexpr std::chrono::sys_days kFirst = std::chrono::year(0) / 1 / 1;
constexpr std::chrono::sys_days kEnd = std::chrono::year(10'000) / 1 / 1;

/// Parses a text from front to back. After the first mismatch is_good() returns false.
class Scanner {
  public:
    explicit Scanner(std::string_view rest) : rest_(rest) {}

    /// Parses exactly `digits` digits. The value must not exceed `most`.
    int number(std::size_t digits, int most) {
        int value = 0;
        const auto text = rest_.substr(0, digits);
        if (text.size() != digits || text.find_first_not_of(kDigits) != std::string_view::npos) {
            good_ = false;
            return 0;
        }
        std::from_chars(text.data(), text.data() + digits, value);
        good_ = good_ && value <= most;
        rest_.remove_prefix(digits);
        return value;
    }

    /// Parses one of the given characters.
    char one_of(std::string_view characters) {
        if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) {
            good_ = false;
            return '\0';
        }
        const char found = rest_.front();
        rest_.remove_prefix(1);
        return found;
    }

    /// Skips a fraction of a second, if there is one.
    void skip_fraction() {
        if (rest_.starts_with('.')) {
            rest_.remove_prefix(1);
            number(1, 9);
            rest_.remove_prefix(std::min(rest_.find_first_not_of(kDigits), rest_.size()));
        }
    }

    bool at_end() const { return rest_.empty(); }
    bool is_good() const { return good_; }

  private:
    std::string_view rest_;
    bool good_ = true;
};

/// Parses `Z` or an offset from UTC.
std::chrono::minutes scan_offset(Scanner& scanner) {
    const char sign = scanner.one_of("Zz+-");
    if (sign != '+' && sign != '-') {
        return 0min;
    }
    const std::chrono::hours hours(scanner.number(2, 23));
    scanner.one_of(":");
    const auto offset = hours + std::chrono::minutes(scanner.number(2, 59));
    return sign == '-' ? -offset : offset;
}

}  // namespace

std::optional<std::chrono::sys_seconds> parse_rfc3339(std::string_view text) {
    Scanner scanner(text);
    const std::chrono::year year(scanner.number(4, 9999));
    scanner.one_of("-");
    const std::chrono::month month(static_cast<unsigned>(scanner.number(2, 12)));
    scanner.one_of("-");
    const std::chrono::day day(static_cast<unsigned>(scanner.number(2, 31)));
    const std::chrono::year_month_day date(year, month, day);
    std::chrono::seconds time_of_day = 0s;
    if (!scanner.at_end()) {
        scanner.one_of("Tt ");
        time_of_day += std::chrono::hours(scanner.number(2, 23));
        scanner.one_of(":");
        time_of_day += std::chrono::minutes(scanner.number(2, 59));
        scanner.one_of(":");
        time_of_day += std::chrono::seconds(scanner.number(2, 59));
        scanner.skip_fraction();
        time_of_day -= scan_offset(scanner);
    }
    if (!scanner.is_good() || !scanner.at_end() || !date.ok()) {
        return std::nullopt;
    }
    const auto time = std::chrono::sys_days(date) + time_of_day;
    return kFirst <= time && time < kEnd ? std::optional(time) : std::nullopt;
}

std::string format_time(std::chrono::sys_seconds time) {
    const auto midnight = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(midnight);
    const std::chrono::hh_mm_ss clock(time - midnight);
    std::array<char, 64> text{};
    const int length = std::snprintf(
        text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
        static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
        static_cast<int>(clock.seconds().count()));
    return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace tollgate
