#include "module/management/admin/preconditions.hpp"

#include <algorithm>
#include <utility>

#include "module/management/operation_error.hpp"

namespace tollgate::management {

namespace {

constexpr std::string_view kETagField = "ETag";

/// Removes OWS from the front (RFC 9110, section 5.6.3).
void skip_blanks(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

bool is_tag_character(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0x21 || (byte >= 0x23 && byte != 0x7f);
}

bool contains(const std::vector<std::string>& tags, const std::string& version) {
    return std::ranges::find(tags, version) != tags.end();
}

std::optional<EntityTags> read_field(std::string_view name,
                                     const std::optional<std::string>& value) {
    if (!value) {
        return std::nullopt;
    }
    auto tags = EntityTags::parse(*value);
    if (!tags) {
        refuse(std::string(name) + ": use * or a list of entity tags such as \"x\"");
    }
    return tags;
}

OperationError precondition_failed() {
    return {Reason::kConditionFailed, "a condition of the request is not met"};
}

}  // namespace

/// Removes a tag from the front. Nothing if there is none.
std::optional<EntityTags::Tag> EntityTags::take_tag(std::string_view& rest) {
    Tag tag{.opaque = {}, .is_weak = rest.starts_with("W/")};
    if (tag.is_weak) {
        rest.remove_prefix(2);
    }
    const auto end = rest.find('"', 1);
    if (!rest.starts_with('"') || end == std::string_view::npos) {
        return std::nullopt;
    }
    tag.opaque = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    return std::ranges::all_of(tag.opaque, is_tag_character) ? std::optional(tag) : std::nullopt;
}

std::optional<EntityTags> EntityTags::parse(std::string_view value) {
    EntityTags tags;
    const auto end = value.find_last_not_of(" \t");
    auto rest = value.substr(0, end == std::string_view::npos ? 0 : end + 1);
    skip_blanks(rest);
    if (rest == "*") {
        tags.is_any_ = true;
        return tags;
    }
    while (!rest.empty()) {
        // A list may have empty elements (RFC 9110, section 5.6.1.2).
        if (!rest.starts_with(',')) {
            const auto tag = take_tag(rest);
            if (!tag) {
                return std::nullopt;
            }
            (tag->is_weak ? tags.weak_ : tags.strong_).emplace_back(tag->opaque);
            skip_blanks(rest);
            if (!rest.empty() && !rest.starts_with(',')) {
                return std::nullopt;
            }
        }
        rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
        skip_blanks(rest);
    }
    return tags.strong_.empty() && tags.weak_.empty() ? std::nullopt
                                                      : std::optional(std::move(tags));
}

bool EntityTags::match_strongly(const std::optional<std::string>& version) const {
    return is_any_ || (version && contains(strong_, *version));
}

bool EntityTags::match_weakly(const std::optional<std::string>& version) const {
    return match_strongly(version) || (version && contains(weak_, *version));
}

Preconditions::Preconditions(const AdminRequest& request)
    : if_match_(read_field("If-Match", request.if_match)),
      if_none_match_(read_field("If-None-Match", request.if_none_match)) {}

/// The order is that of RFC 9110, section 13.2.2.
Preconditions::Result Preconditions::evaluate(const std::optional<std::string>& version) const {
    if (if_match_ && !if_match_->match_strongly(version)) {
        return Result::kFailed;
    }
    if (if_none_match_ && if_none_match_->match_weakly(version)) {
        return Result::kNotModified;
    }
    return Result::kProceed;
}

void Preconditions::require_without_version() const {
    if (evaluate(std::nullopt) != Result::kProceed) {
        throw precondition_failed();
    }
}

AcceptsVersion Preconditions::condition() const {
    if (!if_match_ && !if_none_match_) {
        return {};
    }
    return [conditions = *this](const std::optional<std::string>& version) {
        return conditions.evaluate(version) == Result::kProceed;
    };
}

AdminResponse with_etag(AdminResponse response, const KeysOfId& keys) {
    if (const auto version = version_of(keys)) {
        response.fields.emplace_back(kETagField, '"' + *version + '"');
    }
    return response;
}

AdminResponse under_conditions(AdminResponse response, const Preconditions& preconditions) {
    std::optional<std::string> version;
    for (const auto& [name, value] : response.fields) {
        if (name == kETagField) {
            version = value.substr(1, value.size() - 2);
        }
    }
    switch (preconditions.evaluate(version)) {
        case Preconditions::Result::kProceed:
            break;
        case Preconditions::Result::kNotModified:
            response.status = 304;
            response.body.clear();
            break;
        case Preconditions::Result::kFailed:
            throw precondition_failed();
    }
    return response;
}

}  // namespace tollgate::management
