#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace petstore {

/// The HTTP status of an error response, and the `code` in its Error body. Clients rely on both;
/// backend/README.md lists them.
struct ErrorKind {
    int status;
    std::string_view code;
};

inline constexpr ErrorKind kBadRequest{400, "bad_request"};
inline constexpr ErrorKind kInvalidParameter{400, "invalid_parameter"};
inline constexpr ErrorKind kInvalidJson{400, "invalid_json"};
inline constexpr ErrorKind kMissingField{400, "missing_field"};
inline constexpr ErrorKind kInvalidField{400, "invalid_field"};
inline constexpr ErrorKind kDuplicateField{400, "duplicate_field"};
inline constexpr ErrorKind kForbidden{403, "forbidden"};
inline constexpr ErrorKind kNotFound{404, "not_found"};
inline constexpr ErrorKind kPetNotFound{404, "pet_not_found"};
inline constexpr ErrorKind kMethodNotAllowed{405, "method_not_allowed"};
inline constexpr ErrorKind kRequestTimeout{408, "request_timeout"};
inline constexpr ErrorKind kLengthRequired{411, "length_required"};
inline constexpr ErrorKind kBodyTooLarge{413, "body_too_large"};
inline constexpr ErrorKind kUriTooLong{414, "uri_too_long"};
inline constexpr ErrorKind kUnsupportedMediaType{415, "unsupported_media_type"};
inline constexpr ErrorKind kInternalError{500, "internal_error"};
inline constexpr ErrorKind kDatabaseUnavailable{503, "database_unavailable"};
inline constexpr ErrorKind kStorageFull{507, "storage_full"};

/// A request can't be served: the response is an error of this kind. what() is the `message` of the
/// Error body: it tells the client what the service expects.
class RequestError : public std::exception {
  public:
    RequestError(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

    ErrorKind kind() const { return kind_; }
    const char* what() const noexcept override { return message_.c_str(); }

  private:
    ErrorKind kind_;
    std::string message_;
};

}  // namespace petstore
