#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "module/body/json_pointer.hpp"
#include "module/body/scalar.hpp"

namespace tollgate::body {

/// Finds the values of a JSON text that JSON pointers point to.
class ValueSearch {
  public:
    /// At most kMostPointers, which must outlive this object. Throws std::bad_alloc.
    explicit ValueSearch(std::span<const JsonPointer> pointers)
        : pointers_(pointers), values_(pointers.size()) {}

    /// The values so far, in the order of the pointers. An object, an array and null are none. Of
    /// members with one name, the last one counts.
    std::span<const Scalar> values() const { return values_; }
    /// Begins another text.
    void restart();

    // The parts of the text, in their order.
    void on_name(std::string_view name) noexcept;
    /// Decoded. The end of a string that is longer than Scalar::kLongest may be missing.
    void on_string(std::string_view text) noexcept;
    void on_number(std::string_view number) noexcept;
    void on_truth(bool value) noexcept;
    void on_null() noexcept;
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
    template <typename Make>
    void set(Make make);
    void begin_container(std::uint64_t first_index);

    std::span<const JsonPointer> pointers_;
    std::vector<Scalar> values_;
    /// For each pointer, how many of its first tokens lead to the present value. It may be more
    /// than the present depth if it was right at a value before.
    std::array<std::uint8_t, kMostPointers> matched_{};
    /// For each container around the present value, the index of the next element, or kObject.
    std::array<std::uint64_t, kMostTokens> next_index_{};
    std::size_t depth_ = 0;
};

}  // namespace tollgate::body
