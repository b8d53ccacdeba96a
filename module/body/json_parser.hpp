#pragma once

#include <yajl/yajl_parse.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "module/body/token_cutter.hpp"
#include "module/body/value_search.hpp"

namespace tollgate::body {

/// Parses JSON texts (RFC 8259) that come in pieces, with yajl. Its memory is a part of this
/// object, so it has a bound for texts of any size, and nothing is to be freed. A name is passed on
/// as decoded; if it is longer than kLongestName, its end may be missing. The contents of strings
/// are not checked: bytes that are not UTF-8 in the text of an answer are no reason not to count
/// it.
class JsonParser {
  public:
    /// Containers in each other. More are an error of the text.
    static constexpr std::size_t kMostDepth = 256;

    /// Tells `values` what the text consists of. It must outlive this object.
    explicit JsonParser(ValueSearch& values) : values_(values) {}
    ~JsonParser() = default;
    JsonParser(const JsonParser&) = delete;
    JsonParser& operator=(const JsonParser&) = delete;

    /// Parses the next piece of the text. After an error in the text, does nothing.
    void parse(std::string_view piece) noexcept;
    /// Whether the text so far is one object or array, with no error.
    bool is_complete() const { return has_ended_ && !has_failed_ && cutter_.is_between_tokens(); }
    /// Begins another text.
    void restart();

    /// The largest part of the memory that texts have taken so far, in bytes.
    std::size_t memory_used() const { return most_used_; }

  private:
    friend struct YajlFunctions;

    /// What yajl allocates for the longest tokens that the cutter leaves, and the deepest text.
    static constexpr std::size_t kMemory = 6144;

    /// yajl keeps pointers and sizes. nginx's pools align to no more.
    static constexpr std::size_t kAlignment = alignof(void*);

    void* allocate(std::size_t size);
    bool parse_whole(std::string_view piece) noexcept;
    bool begin_container();

    ValueSearch& values_;
    TokenCutter cutter_;
    yajl_handle yajl_ = nullptr;  ///< nullptr until the text begins
    std::size_t depth_ = 0;
    bool has_ended_ = false;
    bool has_failed_ = false;
    std::size_t used_ = 0;
    std::size_t most_used_ = 0;
    yajl_alloc_funcs allocator_{};
    alignas(kAlignment) std::array<std::byte, kMemory> memory_;
};

}  // namespace tollgate::body
