#include "module/management/admin/admin_request.hpp"

#include <algorithm>

#include "module/management/operation_error.hpp"
#include "module/text/percent_encoding.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::management {

namespace {

constexpr std::size_t kMostParameters = 16;  // more than any resource has

[[noreturn]] void refuse_query(const std::string& why) {
    throw OperationError(Reason::kInvalid, why);
}

/// A name or a value of a query, where `+` is a space.
std::string decode(std::string_view text) {
    std::string with_spaces(text);
    std::ranges::replace(with_spaces, '+', ' ');
    auto decoded = percent_decode(with_spaces);
    if (!decoded) {
        refuse_query("the query is not percent-encoded properly");
    }
    return std::move(*decoded);
}

}  // namespace

QueryParameters::QueryParameters(std::string_view query) {
    while (!query.empty()) {
        const auto parameter = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(parameter.size() + 1, query.size()));
        if (parameter.empty()) {
            continue;
        }
        if (parameters_.size() == kMostParameters) {
            refuse_query("there are more than " + std::to_string(kMostParameters) + " parameters");
        }
        const auto equals = std::min(parameter.find('='), parameter.size());
        auto name = decode(parameter.substr(0, equals));
        if (take(name)) {
            refuse_query("the parameter \"" + name + "\" is given twice");
        }
        const auto value = parameter.substr(std::min(equals + 1, parameter.size()));
        parameters_.emplace_back(std::move(name), decode(value));
    }
}

std::optional<std::string> QueryParameters::take(std::string_view name) {
    const auto found = std::ranges::find(
        parameters_, name, [](const auto& parameter) { return std::string_view(parameter.first); });
    if (found == parameters_.end()) {
        return std::nullopt;
    }
    std::string value = std::move(found->second);
    parameters_.erase(found);
    return value;
}

std::optional<std::int64_t> QueryParameters::take_number(std::string_view name, std::int64_t least,
                                                         std::int64_t most) {
    const auto text = take(name);
    if (!text) {
        return std::nullopt;
    }
    const auto number = parse_whole_number(*text, least, most);
    if (!number) {
        refuse_query("the parameter \"" + std::string(name) + "\" is not a number from " +
                     std::to_string(least) + " to " + std::to_string(most));
    }
    return number;
}

void QueryParameters::require_empty() const {
    if (!parameters_.empty()) {
        refuse_query("\"" + parameters_.front().first + "\" is not a parameter of this resource");
    }
}

}  // namespace tollgate::management
