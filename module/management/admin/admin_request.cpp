#include "module/management/admin/admin_request.hpp"

#include <algorithm>
#include <array>

#include "module/management/operation_error.hpp"
#include "module/management/usage_history.hpp"
#include "module/text/ascii.hpp"
#include "module/text/percent_encoding.hpp"
#include "module/text/rfc3339.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::management {

namespace {

/// A name or a value of a query, where `+` is a space.
std::string decode(std::string_view text) {
    std::string with_spaces(text);
    std::ranges::replace(with_spaces, '+', ' ');
    auto decoded = percent_decode(with_spaces);
    if (!decoded) {
        refuse("the query is not percent-encoded properly");
    }
    return std::move(*decoded);
}

std::string choices_of(const QueryParameter& parameter) {
    std::string text;
    for (const auto choice : parameter.choices) {
        const bool is_last = choice.data() == parameter.choices.back().data();
        text.append(text.empty() ? "" : is_last ? " or " : ", ").append(choice);
    }
    return text;
}

/// Checks the value of a parameter. Returns its canonical form.
std::string checked(const QueryParameter& parameter, std::string value) {
    using Form = QueryParameter::Form;
    const std::string name(parameter.name);
    switch (parameter.form) {
        case Form::kText:
            break;
        case Form::kNumber:
            if (!parse_whole_number(value, parameter.least, parameter.most)) {
                refuse("the parameter \"" + name + "\" is not a number from " +
                       std::to_string(parameter.least) + " to " + std::to_string(parameter.most));
            }
            break;
        case Form::kChoice:
            if (std::ranges::find(parameter.choices, value) == parameter.choices.end()) {
                refuse(name + ": use " + choices_of(parameter));
            }
            break;
        case Form::kTime:
            if (const auto time = parse_rfc3339(value)) {
                return format_time(*time);
            }
            refuse(name + ": use a time such as 2027-01-01T00:00:00Z");
        case Form::kDay:
            if (!parse_day(value)) {
                refuse(name + ": use a day such as 2027-01-31");
            }
            break;
    }
    return value;
}

constexpr std::string_view kBlank = " \t";

std::string_view trimmed(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
    return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

bool is_json(std::string_view content_type) {
    constexpr std::array<std::string_view, 2> kTypes{"application/json",
                                                     "application/merge-patch+json"};
    const auto type = trimmed(content_type.substr(0, content_type.find(';')));
    return std::ranges::any_of(
        kTypes, [&](std::string_view known) { return equals_ignoring_case(type, known); });
}

}  // namespace

std::string request_name(const std::optional<std::string>& request_id,
                         const std::optional<std::string>& traceparent) {
    constexpr std::size_t kLongest = 128;
    constexpr std::size_t kTraceBegin = 3;  // after the version and `-`
    constexpr std::size_t kTraceId = 32;
    const auto is_printable = [](char c) { return c > ' ' && c <= '~'; };
    if (request_id && !request_id->empty() && request_id->size() <= kLongest &&
        std::ranges::all_of(*request_id, is_printable)) {
        return *request_id;
    }
    const auto trace = traceparent && traceparent->size() > kTraceBegin + kTraceId
                           ? traceparent->substr(kTraceBegin, kTraceId)
                           : std::string();
    const bool is_trace = trace.find_first_not_of("0123456789abcdef") == std::string::npos &&
                          trace.find_first_not_of('0') != std::string::npos;
    return is_trace ? trace : std::string();
}

Query::Query(std::string_view query, std::span<const QueryParameter> parameters)
    : parameters_(parameters) {
    while (!query.empty()) {
        const auto text = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(text.size() + 1, query.size()));
        if (text.empty()) {
            continue;
        }
        const auto equals = std::min(text.find('='), text.size());
        const auto name = decode(text.substr(0, equals));
        const auto parameter = std::ranges::find(parameters_, name, &QueryParameter::name);
        if (parameter == parameters_.end()) {
            refuse("\"" + name + "\" is not a parameter of this resource");
        }
        const auto value = text.substr(std::min(equals + 1, text.size()));
        if (!values_.try_emplace(name, checked(*parameter, decode(value))).second) {
            refuse("the parameter \"" + name + "\" is given twice");
        }
    }
    for (const auto& parameter : parameters_) {
        if (parameter.form == QueryParameter::Form::kNumber) {
            values_.try_emplace(std::string(parameter.name), std::to_string(parameter.otherwise));
        }
    }
}

std::optional<std::string> Query::find(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t Query::number(std::string_view name) const {
    return std::stoll(values_.find(name)->second);
}

std::string Query::with_after(std::string_view place) const {
    auto query = "after=" + percent_encode(place);
    for (const auto& parameter : parameters_) {
        const auto value = parameter.name == "after" ? std::nullopt : find(parameter.name);
        if (value) {
            query.append("&").append(parameter.name).append("=").append(percent_encode(*value));
        }
    }
    return query;
}

void require_json_body(const AdminRequest& request) {
    if (request.body.empty()) {
        return;
    }
    if (request.content_type && !is_json(*request.content_type)) {
        throw OperationError(Reason::kUnsupportedMedia,
                             "Content-Type: use application/json or application/merge-patch+json");
    }
    if (request.content_encoding &&
        !equals_ignoring_case(trimmed(*request.content_encoding), "identity")) {
        throw OperationError(Reason::kUnsupportedMedia, "Content-Encoding: send the body in clear");
    }
}

}  // namespace tollgate::management
