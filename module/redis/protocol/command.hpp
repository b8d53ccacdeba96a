#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::redis {

/// The name and the arguments of a command. They may contain any bytes.
using Command = std::vector<std::string>;

/// The words of a command, encoded as bulk strings of RESP. hiredis is not used:
/// redisFormatCommandArgv took a fifth of the module's time for a request that Redis decides.
/// Functions that add words throw std::bad_alloc.
class Words {
  public:
    Words() = default;
    Words(std::initializer_list<std::string_view> words) {
        for (const auto word : words) {
            add(word);
        }
    }

    /// Binary safe.
    void add(std::string_view word);
    void add(std::integral auto number) { add_number(static_cast<std::int64_t>(number)); }
    /// Adds one word that consists of these parts.
    void add_joined(std::span<const std::string_view> parts);
    /// Adds all words of `words`.
    void add(const Words& words);

    std::size_t size() const { return size_; }
    std::string_view bytes() const { return bytes_; }
    void reserve(std::size_t bytes) { bytes_.reserve(bytes); }

  private:
    void add_number(std::int64_t number);

    std::string bytes_;
    std::size_t size_ = 0;
};

/// Appends the command to `out`, in RESP. Throws std::bad_alloc.
void append_command(std::string& out, const Words& words);

}  // namespace tollgate::redis
