#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tollgate::body {

/// Gets the data of events.
class EventHandler {
  public:
    EventHandler() = default;
    EventHandler(const EventHandler&) = delete;
    EventHandler& operator=(const EventHandler&) = delete;
    virtual ~EventHandler() = default;

    /// A piece of the data. The lines of an event's data are separated by a line feed.
    virtual void on_data(std::string_view piece) noexcept = 0;
    virtual void on_event_end() noexcept = 0;
};

/// Splits a stream of server-sent events (`text/event-stream`) that comes in pieces, as the HTML
/// standard says (section 9.2.6). It keeps no text. Everything but `data` is skipped.
class EventStream {
  public:
    /// `handler` must outlive this object.
    explicit EventStream(EventHandler& handler) : handler_(handler) {}

    void read(std::string_view piece) noexcept;

  private:
    enum class State : std::uint8_t {
        kName,   ///< in the name of a field, which is `data` so far
        kSpace,  ///< after its colon: one space does not count
        kValue,
        kSkip,  ///< in a line without data
    };

    void read_part(std::string_view part);
    void read_name(char c);
    void end_line();
    void begin_data();

    EventHandler& handler_;
    State state_ = State::kName;
    std::uint8_t name_length_ = 0;
    bool has_data_ = false;           ///< the event
    bool ended_with_return_ = false;  ///< the line before; a line feed may belong to its end
};

}  // namespace tollgate::body
