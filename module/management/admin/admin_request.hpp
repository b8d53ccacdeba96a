#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/admin/resource_path.hpp"

namespace tollgate::management {

/// A request of tollgate_admin.
struct AdminRequest {
    std::string method{};  ///< `GET` also for HEAD
    ResourcePath path;     ///< below the location, such as `keys/ID`
    std::string base{};    ///< the location, such as `/admin/`
    std::string query{};   ///< without `?`
    std::string body{};
    std::optional<std::string> content_type{};      ///< of the field `Content-Type`
    std::optional<std::string> content_encoding{};  ///< of the field `Content-Encoding`
    std::optional<std::string> idempotency_key{};   ///< of the field `Idempotency-Key`
    std::optional<std::string> if_match{};          ///< of the fields of these names
    std::optional<std::string> if_none_match{};
    std::string actor;   ///< who makes the request: `key:ID`
    std::string name{};  ///< see request_name()
    std::string part{};  ///< the place in a batch; empty: the request is no part of one
    bool leases_are_recalled = false;  ///< of the counts that it resets

    /// The id of the caller's key.
    std::string caller_id() const { return actor.substr(actor.find(':') + 1); }
};

/// Which requests wait for places together. Those of one lane take none from another one.
enum class Lane : std::uint8_t {
    kLists,    ///< searches, lists and histories
    kReads,    ///< reads of one id, and what needs no Redis
    kChanges,  ///< all changes but the following
    kEndings,  ///< revocations, and changes of a state
    kBatches,  ///< batches: each has its place for all of its operations
};
inline constexpr std::size_t kLanes = 5;

/// The name that the caller, or a proxy, has given to a request, for the audit: the field
/// `X-Request-Id` or, without it, the trace-id of `traceparent` (W3C Trace Context). Empty if there
/// is none. A field that is empty, longer than 128 characters, or has others than printable ASCII
/// characters counts as none.
std::string request_name(const std::optional<std::string>& request_id,
                         const std::optional<std::string>& traceparent);

/// The response to it.
struct AdminResponse {
    int status;
    std::string body{};  ///< JSON; empty: none
    std::vector<std::pair<std::string_view, std::string>> fields{};
    /// The caller has no right to make requests any more: nothing was executed.
    bool is_refusal = false;
};

/// A parameter of an endpoint's query. Requests are checked by it, and the document shows it.
struct QueryParameter {
    enum class Form : std::uint8_t { kText, kNumber, kChoice, kTime, kDay };

    std::string_view name;
    Form form = Form::kText;
    std::span<const std::string_view> choices{};  ///< the values of a choice
    // The limits of a number, and its default.
    std::int64_t least = 0;
    std::int64_t most = 0;
    std::int64_t otherwise = 0;  ///< without the parameter
};

/// The query of a request: NAME=VALUE, separated by `&`, percent-encoded.
class Query {
  public:
    /// Throws OperationError with Reason::kInvalid if a parameter is unknown, given twice or not
    /// encoded properly, or if its value is not valid. The parameters must outlive the query.
    Query(std::string_view query, std::span<const QueryParameter> parameters);

    /// The value of a parameter, a time as format_time() writes it. Empty if it is not given.
    std::optional<std::string> find(std::string_view name) const;
    /// The value of a number, or what it is otherwise.
    std::int64_t number(std::string_view name) const;
    /// The query with another value of `after`.
    std::string with_after(std::string_view place) const;

  private:
    std::span<const QueryParameter> parameters_;
    std::map<std::string, std::string, std::less<>> values_;  ///< with those of missing numbers
};

/// Throws OperationError with Reason::kUnsupportedMedia if the request has a body that is not JSON
/// in clear, by its fields `Content-Type` and `Content-Encoding` (RFC 9110 sections 8.3 and 8.4). A
/// body without `Content-Type` is taken for JSON.
void require_json_body(const AdminRequest& request);

}  // namespace tollgate::management
