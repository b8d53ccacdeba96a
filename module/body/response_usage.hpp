#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "module/body/event_stream.hpp"
#include "module/body/json_parser.hpp"
#include "module/body/json_pointer.hpp"
#include "module/body/number_search.hpp"

namespace tollgate::body {

/// How the body of a response is written.
enum class Format : std::uint8_t { kJson, kEventStream };

/// The format that a media type says: JSON (`application/json` or `…+json`), or events; empty for
/// other types. Parameters do not matter.
std::optional<Format> format_of(std::string_view media_type);

/// What a response says that it has used: the sum of the numbers at JSON pointers in its body,
/// which comes in pieces. In a stream of events, the last event that has a number at a pointer
/// counts for this pointer; an event whose data is not JSON is ignored. Its size does not depend on
/// the body, and it allocates nothing.
class ResponseUsage final : private EventHandler {
  public:
    /// At most kMostPointers, which must outlive this object.
    ResponseUsage(std::span<const JsonPointer> pointers, Format format)
        : format_(format), numbers_(pointers), parser_(numbers_), events_(*this) {}
    ~ResponseUsage() override = default;
    ResponseUsage(const ResponseUsage&) = delete;
    ResponseUsage& operator=(const ResponseUsage&) = delete;

    /// Reads the next piece of the body.
    void read(std::string_view piece) noexcept;
    /// A part of the body cannot be read: there is no sum, now and later.
    void give_up() { has_given_up_ = true; }

    /// The sum, from what was read so far; empty if no pointer has a number, if JSON is malformed
    /// or has not ended, or if the sum is above 2^63-1.
    std::optional<std::int64_t> sum() const;

    /// The memory of the parser that was used so far, in bytes; it is a part of this object.
    std::size_t parser_memory_used() const { return parser_.memory_used(); }

  private:
    void read_after_mark(std::string_view piece);
    void on_data(std::string_view piece) noexcept override { parser_.parse(piece); }
    void on_event_end() noexcept override;

    Format format_;
    bool has_given_up_ = false;
    std::uint8_t mark_length_ = 0;                                ///< of the byte order mark so far
    std::array<NumberSearch::Value, kMostPointers> of_events_{};  ///< that have ended
    NumberSearch numbers_;
    JsonParser parser_;
    EventStream events_;
};

static_assert(sizeof(ResponseUsage) <= 8192, "the memory for each response");

}  // namespace tollgate::body
