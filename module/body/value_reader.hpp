#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "module/body/event_stream.hpp"
#include "module/body/json_parser.hpp"
#include "module/body/json_pointer.hpp"
#include "module/body/value_search.hpp"

namespace tollgate::body {

/// How a body is written.
enum class Format : std::uint8_t { kJson, kEventStream };

/// The format that a media type says: JSON (`application/json` or `…+json`), or events; empty for
/// other types. Parameters do not matter.
std::optional<Format> format_of(std::string_view media_type);

/// Reads the values at JSON pointers in a body, which comes in pieces. In a stream of events, the
/// last event that has a value at a pointer counts for this pointer; an event whose data is not
/// JSON is ignored. Its size depends on the number of pointers, not on the body, and it allocates
/// nothing once it is made.
class ValueReader final : private EventHandler {
  public:
    /// At most kMostPointers, which must outlive this object. Throws std::bad_alloc.
    ValueReader(std::span<const JsonPointer> pointers, Format format)
        : format_(format),
          of_events_(format == Format::kEventStream ? pointers.size() : 0),
          values_(pointers),
          parser_(values_),
          events_(*this) {}
    ~ValueReader() override = default;
    ValueReader(const ValueReader&) = delete;
    ValueReader& operator=(const ValueReader&) = delete;

    /// Reads the next piece of the body.
    void read(std::string_view piece) noexcept;
    /// A part of the body cannot be read: there are no values, now and later.
    void give_up() { has_given_up_ = true; }

    /// The value at the first one of `count` pointers from `first` on that has one, in what was
    /// read so far. Empty if there is none, or if a document is malformed or has not ended.
    std::string_view first_of(std::size_t first, std::size_t count) const;

    /// The memory of the parser that was used so far, in bytes; it is a part of this object.
    std::size_t parser_memory_used() const { return parser_.memory_used(); }

  private:
    void read_after_mark(std::string_view piece);
    void on_data(std::string_view piece) noexcept override { parser_.parse(piece); }
    void on_event_end() noexcept override;

    Format format_;
    bool has_given_up_ = false;
    std::uint8_t mark_length_ = 0;   ///< of the byte order mark so far
    std::vector<Scalar> of_events_;  ///< that have ended
    ValueSearch values_;
    JsonParser parser_;
    EventStream events_;
};

static_assert(sizeof(ValueReader) <= 8192, "the memory for each body, but for its values");

}  // namespace tollgate::body
