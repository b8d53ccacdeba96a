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

/// 201 with the pet and its Location. `base` is the path before `/pets`, as it stands in a URI.
Answer pet_added(const Pet& pet, std::string_view base);

/// 200 with the pet or 404, and the headers of a deprecated operation (RFC 9745, RFC 8594, RFC
/// 5829).
Answer pet_found(const std::optional<Pet>& pet, std::string_view base);

/// 200 with a page of pets. Where there are more, a Link leads to the next page (RFC 8288).
class PetPage {
  public:
    /// `base` must outlive the page.
    PetPage(const PetQuery& query, std::string_view base);

    /// The next pet, in ascending order of ids. Beyond the limit it only tells that there are more.
    void add(const Pet& pet);

    Answer answer() &&;

  private:
    PetQuery query_;
    std::string_view base_;
    std::string body_ = "[";
    int count_ = 0;
    std::int64_t last_id_ = 0;
};

/// 200 with an array of `documents`, each of them JSON.
Answer orders_listed(const std::vector<std::string>& documents);

/// 405 with the methods that are allowed (RFC 9110, section 10.2.1).
Answer method_not_allowed(std::string_view allowed);

/// An Error body. 503 says when to come back (Retry-After).
Answer refused(ErrorKind kind, std::string_view message);

}  // namespace petstore
