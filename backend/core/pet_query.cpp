#include "backend/core/pet_query.hpp"

#include <charconv>
#include <cstddef>
#include <string>

#include "backend/core/decimal.hpp"
#include "backend/core/refusal.hpp"

namespace petstore {
namespace {

constexpr int kMaxLimit = 100;

/// An escape that isn't one stands for itself, as the URL standard has it.
std::string decode(std::string_view text) {
    constexpr std::size_t kEscapeLength = 3;
    std::string decoded;
    decoded.reserve(text.size());
    while (!text.empty()) {
        unsigned char byte = 0;
        if (text[0] == '%' && text.size() >= kEscapeLength &&
            std::from_chars(&text[1], text.data() + kEscapeLength, byte, 16).ptr ==
                text.data() + kEscapeLength) {
            decoded += static_cast<char>(byte);
            text.remove_prefix(kEscapeLength);
        } else {
            decoded += text[0] == '+' ? ' ' : text[0];
            text.remove_prefix(1);
        }
    }
    return decoded;
}

class PetQueryReader {
  public:
    void parameter(std::string_view name, std::string_view value) {
        if (name == "limit") {
            claim(has_limit_, name);
            const auto limit = parse_decimal(value);
            if (!limit || *limit < 1 || *limit > kMaxLimit) {
                throw Refusal(kInvalidParameter, R"("limit" must be an integer from 1 to 100.)");
            }
            query_.limit = static_cast<int>(*limit);
        } else if (name == "status") {
            claim(has_status_, name);
            query_.status = parse_pet_status(value);
            if (!query_.status) {
                throw Refusal(kInvalidParameter,
                              R"("status" must be one of "available", "pending" and "sold".)");
            }
        } else if (name == "after") {
            claim(has_after_, name);
            const auto after = parse_decimal(value);
            if (!after) {
                throw Refusal(kInvalidParameter, R"("after" must be the id of a pet, an integer.)");
            }
            query_.after = *after;
        }
    }

    PetQuery result() const { return query_; }

  private:
    static void claim(bool& seen, std::string_view name) {
        if (seen) {
            throw Refusal(kInvalidParameter,
                          '"' + std::string{name} + "\" is given more than once.");
        }
        seen = true;
    }

    PetQuery query_;
    bool has_limit_ = false;
    bool has_status_ = false;
    bool has_after_ = false;
};

}  // namespace

PetQuery parse_pet_query(std::string_view query) {
    PetQueryReader reader;
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(pair.size() == query.size() ? pair.size() : pair.size() + 1);
        const std::string_view name = pair.substr(0, pair.find('='));
        const std::string_view value =
            name.size() == pair.size() ? std::string_view{} : pair.substr(name.size() + 1);
        reader.parameter(decode(name), decode(value));
    }
    return reader.result();
}

}  // namespace petstore
