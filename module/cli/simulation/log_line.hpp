#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/cli/simulation/log_time.hpp"
#include "module/plan/window.hpp"

namespace tollgate::cli {

/// The fields of a line that the simulation reads. Empty: the usual field. A field of a JSON
/// document is a member. A field of another line is `NAME=value`, or the number of a word, counted
/// from 1, or `remote_addr` (the first word) or `remote_user` (the third one).
struct LogFields {
    std::string id{};  ///< usually `key_id`; without JSON also `key`
    std::string plan{};
    std::string cost{};
    std::string time{};  ///< see parse_log_time; usually `msec` or `time`, or the text in brackets
};

/// A request in an access log. The texts are valid until the next line is parsed.
struct LoggedRequest {
    /// The time; in the middle of its second if the log has whole seconds.
    Instant began{};
    std::string_view id{};       ///< empty: none
    std::string_view plan{};     ///< empty: not known
    std::string_view uri{};      ///< empty: not known
    std::string_view request{};  ///< nginx's `$request_id`; empty: not known
    std::int64_t cost = 1;       ///< 0 to 10^12
    bool has_id_field = false;   ///< the line has the field of the id, maybe without a value
    bool is_forbidden = false;   ///< Tollgate refused it with 403
    bool is_refused = false;     ///< it got 429, or would have without a dry run
};

/// Parses lines of access logs: JSON documents like those of conf/log-json.conf, which begin with
/// `{`, and lines of words like those of nginx's format `combined`.
class LogLineParser {
  public:
    explicit LogLineParser(LogFields fields);

    /// Parses a line without its line end. Returns the reason if it can't be read, or an empty
    /// text.
    std::string_view parse(std::string_view line, LoggedRequest& request);

  private:
    /// The values that a line may have.
    enum Value : std::size_t {
        kId,
        kPlan,
        kCost,
        kExactTime,  ///< preferred to kTime
        kTime,
        kSeconds,
        kRequest,
        kVerdict,
        kStatus,
        kUri,
        kValues,
    };
    struct Word {
        std::string_view text;  ///< without its quotes or brackets
        char opening = '\0';    ///< `"` or `[` if it has them
    };
    using Names = std::vector<std::pair<std::string, Value>>;

    static Names names_of(const LogFields& fields);
    Value value_of(std::size_t position, std::string_view name);
    bool read_document(std::string_view rest);
    bool split(std::string_view line);
    bool read_words(std::string_view line);
    void read_named_word(std::string_view word);
    void read_usual_words();
    std::string_view word_at(std::string_view line, const std::string& field) const;
    std::string_view interpret(LoggedRequest& request);
    std::string_view read_time(LoggedRequest& request);

    LogFields fields_;
    Names member_names_;
    Names word_names_;
    Names last_members_;  ///< of the last document, in its order; kValues: not a value
    std::array<std::string_view, kValues> values_;  ///< without data: the line has none
    std::vector<Word> words_;                       ///< of a line that is not JSON
    std::array<std::string, kValues> texts_;        ///< values without escapes
    std::string last_time_text_;
    std::optional<LogTime> last_time_;
};

}  // namespace tollgate::cli
