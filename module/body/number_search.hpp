#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "module/body/json_pointer.hpp"

namespace tollgate::body {

/// Finds the numbers of a JSON text that JSON pointers point to.
class NumberSearch {
  public:
    /// The value at a pointer, from 0 to 2^63-1; empty if there is none, or another value. Of
    /// members with one name, the last one counts.
    using Value = std::optional<std::int64_t>;

    /// At most kMostPointers, which must outlive this object.
    explicit NumberSearch(std::span<const JsonPointer> pointers) : pointers_(pointers) {}

    /// The values so far, in the order of the pointers.
    std::span<const Value> values() const { return {values_.data(), pointers_.size()}; }
    /// Begins another text.
    void restart();

    // The parts of the text, in their order.
    void on_name(std::string_view name) noexcept;
    void on_number(std::string_view number) noexcept;
    /// A string, true, false or null.
    void on_other() noexcept;
    void on_object() noexcept;
    void on_array() noexcept;
    /// The end of an object or an array.
    void on_end() noexcept { --depth_; }

  private:
    /// In place of the next index: the container is an object.
    static constexpr std::uint64_t kObject = ~std::uint64_t{0};

    template <typename Matches>
    void match(Matches matches);
    void begin_value();
    void set(Value value);
    void begin_container(std::uint64_t first_index);

    std::span<const JsonPointer> pointers_;
    std::array<Value, kMostPointers> values_{};
    /// For each pointer, how many of its first tokens lead to the present value. It may be more
    /// than the present depth if it was right at a value before.
    std::array<std::uint8_t, kMostPointers> matched_{};
    /// For each container around the present value, the index of the next element, or kObject.
    std::array<std::uint64_t, kMostTokens> next_index_{};
    std::size_t depth_ = 0;
};

}  // namespace tollgate::body
