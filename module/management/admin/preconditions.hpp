#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/management/admin/admin_request.hpp"
#include "module/management/stored_key.hpp"

namespace tollgate::management {

/// The value of `If-Match` or `If-None-Match`: `*`, or a list of entity tags (RFC 9110, sections
/// 8.8.3, 13.1.1 and 13.1.2).
class EntityTags {
  public:
    /// Nothing if the value has another form. An empty list has another form.
    static std::optional<EntityTags> parse(std::string_view value);

    /// Whether the tags match what has this version. Without a version, only `*` matches. The
    /// strong comparison ignores tags that are weak.
    bool match_strongly(const std::optional<std::string>& version) const;
    bool match_weakly(const std::optional<std::string>& version) const;

  private:
    struct Tag {
        std::string_view opaque;  ///< without the quotation marks
        bool is_weak;
    };

    static std::optional<Tag> take_tag(std::string_view& rest);

    bool is_any_ = false;
    std::vector<std::string> strong_;
    std::vector<std::string> weak_;
};

/// The conditions of a request (RFC 9110, section 13). `If-Modified-Since` and
/// `If-Unmodified-Since` are ignored, as for every resource without a time of modification.
class Preconditions {
  public:
    /// Throws OperationError with Reason::kInvalid if a field is malformed.
    explicit Preconditions(const AdminRequest& request);

    /// What to do with a request for something that exists and has this version, or no version.
    enum class Result : std::uint8_t { kProceed, kNotModified, kFailed };
    /// kNotModified is for GET and HEAD: other methods fail then.
    Result evaluate(const std::optional<std::string>& version) const;

    /// Throws OperationError with Reason::kConditionFailed unless the request may change something
    /// that exists and has no version.
    void require_without_version() const;

    /// The condition of an operation. Empty if the request has none.
    AcceptsVersion condition() const;

  private:
    std::optional<EntityTags> if_match_;
    std::optional<EntityTags> if_none_match_;
};

/// Adds the `ETag` of an id, if it has a key.
AdminResponse with_etag(AdminResponse response, const KeysOfId& keys);

/// The response to a GET under its conditions. The version is that of its `ETag`. Throws
/// OperationError with Reason::kConditionFailed.
AdminResponse under_conditions(AdminResponse response, const Preconditions& preconditions);

}  // namespace tollgate::management
