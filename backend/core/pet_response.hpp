#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/error.hpp"
#include "backend/core/pet.hpp"

namespace petstore {

/// A header field of a response. `name` is a string literal.
struct Field {
    std::string_view name;
    std::string value;
};

/// A header field whose value is a string literal too.
struct ConstantField {
    std::string_view name;
    std::string_view value;
};

/// A response, without the fields that nginx adds to every response. The body is JSON.
struct Response {
    int status = 200;
    std::string body;
    std::vector<Field> fields;
    /// More fields, of static duration.
    std::span<const ConstantField> constant_fields;
};

// Location and Link hold references relative to the URI of the request (RFC 3986, section 4.2).
// Behind a proxy that maps the path, only the client knows that URI.

/// The response to `POST pets`: 201, the pet and its Location.
Response pet_created(const Pet& pet);

/// The responses to `GET pets/ID`: 200 and the pet, or 404. Both have the fields of a deprecated
/// operation: Deprecation (RFC 9745), Sunset (RFC 8594) and Link (RFC 5829).
Response pet_found(const Pet& pet);
Response pet_not_found();

/// Builds the response to `GET pets`: 200 and an array of pets. If there are more pets, a Link
/// refers to the next page (RFC 8288). A page ends early with the pet that makes it longer than 1
/// MiB, so that a client that asks for 100 pets with long names does not take 100 MiB of a worker.
class PetPage {
  public:
    explicit PetPage(const PetQuery& query);

    /// Adds the next pet, in ascending order of ids. Returns false if the page was full: the pet is
    /// not in the page then, and shows that there is a next one.
    bool add(const Pet& pet);

    /// The response. The page must not be used afterwards.
    Response response() &&;

  private:
    PetQuery query_;
    std::string body_ = "[";
    int count_ = 0;
    bool has_next_ = false;
    std::int64_t last_id_ = 0;
};

/// The response to `GET store/orders`: 200 and `array`, a JSON array of orders.
Response orders_listed(std::string array);

/// 405 with the allowed methods in Allow (RFC 9110, section 10.2.1).
Response method_not_allowed(std::string_view allowed);

/// An Error body with this kind and message. A response with status 503 has Retry-After.
Response error_response(ErrorKind kind, std::string_view message);

/// The error response for a status that nginx itself answers with.
Response error_of_status(int status);

}  // namespace petstore
