#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/admin/resource_path.hpp"

namespace tollgate::management {

enum class Method : std::uint8_t { kGet, kPost, kPatch, kDelete, kOther };

/// A request of tollgate_admin.
struct AdminRequest {
    Method method = Method::kOther;
    ResourcePath path;    ///< below the location, such as `keys/ID`
    std::string base{};   ///< the location, such as `/admin/`
    std::string query{};  ///< without `?`
    std::string body{};
    std::optional<std::string> content_type{};      ///< of the field `Content-Type`
    std::optional<std::string> content_encoding{};  ///< of the field `Content-Encoding`
    std::optional<std::string> idempotency_key{};   ///< of the field `Idempotency-Key`
    std::optional<std::string> if_match{};          ///< of the fields of these names
    std::optional<std::string> if_none_match{};
    std::string actor;  ///< who makes the request: `key:ID`
};

/// The response to it.
struct AdminResponse {
    int status;
    std::string body{};  ///< JSON; empty: none
    std::vector<std::pair<std::string_view, std::string>> fields{};
};

/// The parameters of a query: NAME=VALUE, separated by `&`, percent-encoded.
class QueryParameters {
  public:
    /// Throws OperationError with Reason::kInvalid if there are too many parameters, or if one is
    /// given twice or not encoded properly.
    explicit QueryParameters(std::string_view query);

    /// The value of a parameter, and removes it. Empty if there is none.
    std::optional<std::string> take(std::string_view name);
    /// The same for a number in this range. Throws OperationError with Reason::kInvalid.
    std::optional<std::int64_t> take_number(std::string_view name, std::int64_t least,
                                            std::int64_t most);
    /// Throws OperationError with Reason::kInvalid if a parameter is left.
    void require_empty() const;

  private:
    std::vector<std::pair<std::string, std::string>> parameters_;
};

}  // namespace tollgate::management
