#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/pet.hpp"
#include "backend/core/pet_query.hpp"
#include "backend/core/refusal.hpp"

namespace petstore {

/// A header field; the name is a literal.
struct Header {
    std::string_view name;
    std::string value;
};

/// An answer, complete but for what every response of the server bears. The body is JSON.
struct Answer {
    int status = 200;
    std::string body;
    std::vector<Header> headers;
};

// References in Location and Link are relative to the URI that the client has asked for (RFC 3986,
// section 4.2): behind a proxy only the client knows what precedes its last segments.

/// The answer to `POST pets`: 201 with the pet and its Location.
Answer pet_added(const Pet& pet);

/// The answer to `GET pets/ID`: 200 with the pet or 404, and the headers of a deprecated operation
/// (RFC 9745, RFC 8594, RFC 5829).
Answer pet_found(const std::optional<Pet>& pet);

/// The answer to `GET pets`: 200 with a page of pets. Where there are more, a Link leads to the
/// next page (RFC 8288).
class PetPage {
  public:
    explicit PetPage(const PetQuery& query);

    /// The next pet, in ascending order of ids. Beyond the limit it only tells that there are more.
    void add(const Pet& pet);

    Answer answer() &&;

  private:
    PetQuery query_;
    std::string body_ = "[";
    int count_ = 0;
    std::int64_t last_id_ = 0;
};

/// The answer to `GET store/orders`: 200 with an array of JSON documents.
Answer orders_listed(std::string array);

/// 405 with the methods that are allowed (RFC 9110, section 10.2.1).
Answer method_not_allowed(std::string_view allowed);

/// The Error body for a status that nginx itself answers.
Answer error_of_nginx(int status);

/// An Error body. 503 says when to come back (Retry-After).
Answer refused(ErrorKind kind, std::string_view message);

}  // namespace petstore
