#include "module/management/admin/media_type.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "module/management/operation_error.hpp"
#include "module/text/ascii.hpp"

namespace tollgate::management {

namespace {

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
