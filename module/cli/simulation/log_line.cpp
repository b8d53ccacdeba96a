#include "module/cli/simulation/log_line.hpp"

#include <algorithm>

#include "module/plan/rate.hpp"
#include "module/report/verdict.hpp"
#include "module/text/json_reader.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::cli {

using namespace std::chrono_literals;

namespace {

/// A value without its meaning "none", which nginx logs as `-`.
std::string_view unless_dash(std::string_view value) {
    return value == "-" ? std::string_view() : value;
}

/// Whether the text is an id of a request as nginx makes it. Other logs may call another thing so.
bool is_request_id(std::string_view text) {
    constexpr std::size_t kDigits = 32;
    return text.size() == kDigits &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The number of a word that a field names, counted from 1; 0 if it names none.
std::size_t word_number(const std::string& field) {
    constexpr std::int64_t kMost = 10'000;
    return static_cast<std::size_t>(parse_whole_number(field, 1, kMost).value_or(0));
}

/// The URI in a request line: `GET /a?b HTTP/1.1`.
std::string_view uri_in(std::string_view request_line) {
    const auto before = request_line.find(' ');
    if (before == std::string_view::npos) {
        return {};
    }
    const auto uri = request_line.substr(before + 1);
    return uri.substr(0, uri.rfind(' '));
}

/// The position of the quote that ends a text whose first byte is at `from`; npos if there is none.
/// A backslash escapes a quote.
std::size_t end_of_quoted(std::string_view text, std::size_t from) {
    for (auto end = text.find('"', from); end != text.npos; end = text.find('"', end + 1)) {
        std::size_t backslashes = 0;
        while (end - backslashes > from && text[end - 1 - backslashes] == '\\') {
            ++backslashes;
        }
        if (backslashes % 2 == 0) {
            return end;
        }
    }
    return text.npos;
}

void skip_json_space(std::string_view& rest) {
    const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    // nginx writes none.
    while (!rest.empty() && is_space(rest.front())) {
        rest.remove_prefix(1);
    }
}

/// Takes a character and the spaces before it. Returns false if there is another one.
bool take_json(std::string_view& rest, char c) {
    skip_json_space(rest);
    if (!rest.starts_with(c)) {
        return false;
    }
    rest.remove_prefix(1);
    return true;
}

/// Takes a text without its quotes, whose opening one was taken.
bool take_json_text(std::string_view& rest, std::string_view& text) {
    const auto end = end_of_quoted(rest, 0);
    text = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? 0 : end + 1);
    return end != rest.npos;
}

/// Takes a value that is not a text, up to the `,` or `}` after it. It is not checked.
bool take_json_other(std::string_view& rest, std::string_view& value) {
    std::size_t depth = 0;
    std::size_t end = 0;
    for (; end < rest.size(); ++end) {
        const char next = rest[end];
        const bool closes = next == '}' || next == ']';
        if (depth == 0 && (closes || next == ',')) {
            break;
        }
        end = next == '"' ? std::min(end_of_quoted(rest, end + 1), rest.size()) : end;
        depth += next == '{' || next == '[' ? 1 : 0;
        depth -= closes ? 1 : 0;
    }
    if (end >= rest.size()) {
        return false;
    }
    value = rest.substr(0, end);
    value = value.substr(0, value.find_last_not_of(" \t\r\n") + 1);
    rest.remove_prefix(end);
    return !value.empty();
}

/// Takes a word without a quote or bracket at its start; a value in quotes may follow `=`.
bool take_bare_word(std::string_view& rest, std::string_view& word) {
    auto end = std::min(rest.find(' '), rest.size());
    if (const auto quote = rest.substr(0, end).find("=\""); quote != rest.npos) {
        end = end_of_quoted(rest, quote + 2);
        if (end == rest.npos) {
            return false;
        }
        ++end;
    }
    word = rest.substr(0, end);
    rest.remove_prefix(end);
    return true;
}

}  // namespace

LogLineParser::Names LogLineParser::names_of(const LogFields& fields) {
    Names names{{fields.id.empty() ? "key_id" : fields.id, kId},
                {fields.plan.empty() ? "plan" : fields.plan, kPlan},
                {fields.cost.empty() ? "cost" : fields.cost, kCost},
                {"seconds", kSeconds},
                {"request_time", kSeconds},
                {"request", kRequest},
                {"request_id", kRequest},
                {"verdict", kVerdict},
                {"status", kStatus},
                {"uri", kUri},
                {"request_uri", kUri}};
    if (fields.time.empty()) {
        names.emplace_back("msec", kExactTime);
        names.emplace_back("time", kTime);
    } else {
        names.emplace_back(fields.time, kTime);
    }
    return names;
}

LogLineParser::LogLineParser(LogFields fields)
    : fields_(std::move(fields)), member_names_(names_of(fields_)), word_names_(member_names_) {
    if (fields_.id.empty()) {
        word_names_.emplace_back("key", kId);
    }
}

/// The value of a member. The lines of a log have the same members in the same order: usually the
/// member at this position is known.
LogLineParser::Value LogLineParser::value_of(std::size_t position, std::string_view name) {
    if (position < last_members_.size() && last_members_[position].first == name) {
        return last_members_[position].second;
    }
    const auto known = std::ranges::find(member_names_, name, &Names::value_type::first);
    last_members_.resize(position);
    last_members_.emplace_back(name, known == member_names_.end() ? kValues : known->second);
    return last_members_.back().second;
}

/// A JSON library is not used, because it refuses bytes that are not UTF-8: nginx logs what a
/// client sends, and such a line must count.
bool LogLineParser::read_document(std::string_view rest) {
    if (!take_json(rest, '{')) {
        return false;
    }
    for (std::size_t position = 0; !take_json(rest, '}'); ++position) {
        std::string_view name;
        std::string_view text;
        if ((position > 0 && !take_json(rest, ',')) || !take_json(rest, '"') ||
            !take_json_text(rest, name) || !take_json(rest, ':')) {
            return false;
        }
        const bool is_text = take_json(rest, '"');
        if (is_text ? !take_json_text(rest, text) : !take_json_other(rest, text)) {
            return false;
        }
        const Value value = value_of(position, name);
        if (value == kValues) {
            continue;
        }
        values_[value] = !is_text && text == "null" ? "" : text;
        if (is_text && text.find('\\') != text.npos) {
            texts_[value] = without_json_escapes(text).value_or(std::string(text));
            values_[value] = texts_[value];
        }
    }
    skip_json_space(rest);
    return rest.empty();
}

/// Splits a line into words at spaces, as nginx's format `combined` and formats like it need it: a
/// word may be in quotes or in brackets, and the value of `NAME="value"` in quotes. Returns false
/// if a quote or a bracket is not closed.
bool LogLineParser::split(std::string_view line) {
    words_.clear();
    while (true) {
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (line.empty()) {
            return true;
        }
        Word word{.text = {}, .opening = line.front()};
        if (word.opening == '"' || word.opening == '[') {
            const auto end = word.opening == '[' ? line.find(']') : end_of_quoted(line, 1);
            if (end == line.npos) {
                return false;
            }
            word.text = line.substr(1, end - 1);
            line.remove_prefix(end + 1);
        } else {
            word.opening = '\0';
            if (!take_bare_word(line, word.text)) {
                return false;
            }
        }
        words_.push_back(word);
    }
}

void LogLineParser::read_named_word(std::string_view word) {
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) {
        return;
    }
    auto text = word.substr(equals + 1);
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
        text = text.substr(1, text.size() - 2);
    }
    for (const auto& [name, value] : word_names_) {
        if (word.substr(0, equals) == name) {
            values_[value] = text;
        }
    }
}

/// Reads the words that `combined` has: the time in brackets, the request line and the status.
void LogLineParser::read_usual_words() {
    const auto time = std::ranges::find(words_, '[', &Word::opening);
    if (time != words_.end() && fields_.time.empty()) {
        values_[kTime] = time->text;
    }
    const auto request =
        std::find_if(time, words_.end(), [](const Word& word) { return word.opening == '"'; });
    if (request != words_.end()) {
        values_[kUri] = uri_in(request->text);
        if (request + 1 != words_.end()) {
            values_[kStatus] = (request + 1)->text;
        }
    }
}

/// The word of a field that is a position. Without data if it is none, or the line has none.
std::string_view LogLineParser::word_at(std::string_view line, const std::string& field) const {
    if (field == "remote_user") {
        // A name may contain spaces: it ends before the time.
        const auto time = std::ranges::find(words_, '[', &Word::opening);
        if (time == words_.end() || time - words_.begin() < 3) {
            return {};
        }
        const char* const begin = words_[2].text.data();
        const char* const end = time->text.data() - 2;
        return line.substr(static_cast<std::size_t>(begin - line.data()),
                           static_cast<std::size_t>(end - begin));
    }
    const auto number = field == "remote_addr" ? 1 : word_number(field);
    return number == 0 || number > words_.size() ? std::string_view() : words_[number - 1].text;
}

bool LogLineParser::read_words(std::string_view line) {
    if (!split(line)) {
        return false;
    }
    for (const Word& word : words_) {
        if (word.opening == '\0') {
            read_named_word(word.text);
        }
    }
    read_usual_words();
    for (const auto& [field, value] :
         {std::pair(&fields_.id, kId), std::pair(&fields_.plan, kPlan),
          std::pair(&fields_.cost, kCost), std::pair(&fields_.time, kTime)}) {
        if (const auto word = word_at(line, *field); word.data() != nullptr) {
            values_[value] = word;
        }
    }
    return true;
}

std::string_view LogLineParser::read_time(LoggedRequest& request) {
    const auto text = values_[kExactTime].empty() ? values_[kTime] : values_[kExactTime];
    if (text.empty()) {
        return "no time";
    }
    // Most lines have the time of the line before.
    if (text != last_time_text_) {
        last_time_ = parse_log_time(text);
        last_time_text_ = text;
    }
    const auto& ended = last_time_;
    if (!ended) {
        return "invalid time";
    }
    std::optional took = 0ms;
    if (!unless_dash(values_[kSeconds]).empty()) {
        took = parse_log_seconds(values_[kSeconds]);
    }
    if (!took || *took > ended->at.time_since_epoch()) {
        return "invalid duration";
    }
    request.began = ended->at - *took;
    if (!ended->is_exact) {
        request.began += 500ms;
    }
    return {};
}

std::string_view LogLineParser::interpret(LoggedRequest& request) {
    if (const auto reason = read_time(request); !reason.empty()) {
        return reason;
    }
    request.has_id_field = values_[kId].data() != nullptr;
    request.id = unless_dash(values_[kId]);
    request.plan = unless_dash(values_[kPlan]);
    request.uri = values_[kUri];
    request.request = is_request_id(values_[kRequest]) ? values_[kRequest] : std::string_view();
    const auto verdict = unless_dash(values_[kVerdict]);
    request.is_forbidden = verdict == name_of(Verdict::kForbidden);
    request.is_refused = verdict.empty() ? values_[kStatus] == "429"
                                         : verdict == name_of(Verdict::kLimited) ||
                                               verdict == name_of(Verdict::kBanned);
    request.cost = 1;
    if (const auto text = unless_dash(values_[kCost]); !text.empty()) {
        const auto cost = parse_whole_number(text, 0, kMoreThanAnyLimit);
        if (!cost) {
            return "invalid cost";
        }
        request.cost = *cost;
    }
    return {};
}

std::string_view LogLineParser::parse(std::string_view line, LoggedRequest& request) {
    values_.fill({});
    const bool is_document = line.starts_with('{');
    if (is_document ? !read_document(line) : !read_words(line)) {
        return is_document ? "not a JSON document" : "a quote or bracket is not closed";
    }
    return interpret(request);
}

}  // namespace tollgate::cli
