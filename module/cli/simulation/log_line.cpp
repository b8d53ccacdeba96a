#include "module/cli/simulation/log_line.hpp"

#include <algorithm>

#include "module/cli/simulation/json_members.hpp"
#include "module/report/verdict.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::cli {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kMostCost = 1'000'000'000'000;  ///< as in tollgate_cost

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

bool LogLineParser::read_document(std::string_view line) {
    JsonMembers members(line);
    JsonMember member;
    for (std::size_t position = 0; members.next(member); ++position) {
        const Value value = value_of(position, member.name);
        if (value == kValues) {
            continue;
        }
        values_[value] = member.value;
        if (!member.is_text && member.value == "null") {
            values_[value] = "";
        } else if (member.is_text && member.value.find('\\') != std::string_view::npos) {
            texts_[value] = without_json_escapes(member.value);
            values_[value] = texts_[value];
        }
    }
    return members.is_complete();
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
    const auto time = std::ranges::find(words_, '[', &LogWord::opening);
    if (time != words_.end() && fields_.time.empty()) {
        values_[kTime] = time->text;
    }
    const auto request =
        std::find_if(time, words_.end(), [](const LogWord& word) { return word.opening == '"'; });
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
        const auto time = std::ranges::find(words_, '[', &LogWord::opening);
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
    if (!split_log_words(line, words_)) {
        return false;
    }
    for (const LogWord& word : words_) {
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
    const auto ended = times_.parse(text);
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
        const auto cost = parse_whole_number(text, 0, kMostCost);
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
