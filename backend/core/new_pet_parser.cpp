#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "backend/core/error.hpp"
#include "backend/core/integer.hpp"
#include "backend/core/pet_request.hpp"

namespace petstore {
namespace {

[[noreturn]] void throw_syntax_error(std::size_t byte) {
    throw RequestError(
        kInvalidJson, "The body is not valid JSON in UTF-8, at byte " + std::to_string(byte) + ".");
}

/// Handles the events of nlohmann's SAX parser, which doesn't recurse. A handler returns true to go
/// on with the parse, and throws RequestError at the first mistake.
class NewPetHandler {
  public:
    NewPet result() && {
        if (!has_name_) {
            throw RequestError(kMissingField, R"("name" is missing; it must be a string.)");
        }
        if (!has_category_id_) {
            throw RequestError(kMissingField, R"("categoryId" is missing; it must be an integer.)");
        }
        return std::move(pet_);
    }

    bool key(std::string& name) {
        if (depth_ > 1) {
            return true;
        }
        field_ = name == "name"         ? Field::kName
                 : name == "categoryId" ? Field::kCategoryId
                 : name == "status"     ? Field::kStatus
                                        : Field::kOther;
        if ((field_ == Field::kName && has_name_) ||
            (field_ == Field::kCategoryId && has_category_id_) ||
            (field_ == Field::kStatus && pet_.status)) {
            throw RequestError(kDuplicateField, '"' + name + "\" is given more than once.");
        }
        return true;
    }

    bool string(std::string& value) {
        switch (field()) {
            case Field::kName:
                pet_.name = std::move(value);
                has_name_ = true;
                return true;
            case Field::kStatus:
                pet_.status = parse_pet_status(value);
                return pet_.status ? true : ignore_or_throw();
            default:
                return ignore_or_throw();
        }
    }

    bool number_integer(std::int64_t value) { return integer(value); }

    bool number_unsigned(std::uint64_t value) {
        constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
        return integer(value <= kMax ? std::optional{static_cast<std::int64_t>(value)}
                                     : std::nullopt);
    }

    bool number_float(double /*value*/, const std::string& digits) {
        return integer(field() == Field::kCategoryId ? parse_json_integer(digits) : std::nullopt);
    }

    bool null() { return ignore_or_throw(); }
    bool boolean(bool /*value*/) { return ignore_or_throw(); }
    bool binary(nlohmann::json::binary_t& /*value*/) { return ignore_or_throw(); }
    bool start_object(std::size_t /*size*/) { return depth_ == 0 ? descend() : start_array(0); }
    bool end_object() { return ascend(); }
    bool start_array(std::size_t /*size*/) { return ignore_or_throw() && descend(); }
    bool end_array() { return ascend(); }

    bool parse_error(std::size_t byte, const std::string& /*token*/,
                     const nlohmann::json::exception& error) {
        constexpr int kNumberOverflow = 406;  // valid JSON, but outside of double
        if (error.id == kNumberOverflow && ignore_or_throw()) {
            throw RequestError(kInvalidJson, "The body holds a number that is out of range.");
        }
        throw_syntax_error(byte);
    }

  private:
    enum class Field : std::uint8_t { kOther, kName, kCategoryId, kStatus };

    /// The member of the pet that the current value belongs to: kOther for nested values.
    Field field() const {
        if (depth_ == 0) {
            throw RequestError(kInvalidJson, "The body must be a JSON object.");
        }
        return depth_ == 1 ? field_ : Field::kOther;
    }

    /// Handles a value that has the wrong type for every member of a pet: throws if it belongs to
    /// such a member, and ignores it otherwise.
    bool ignore_or_throw() const {
        switch (field()) {
            case Field::kName:
                throw RequestError(kInvalidField, R"("name" must be a string.)");
            case Field::kCategoryId:
                throw RequestError(kInvalidField,
                                   R"("categoryId" must be an integer from -9223372036854775808 )"
                                   "to 9223372036854775807.");
            case Field::kStatus:
                throw RequestError(kInvalidField,
                                   R"("status" must be one of "available", "pending" and "sold".)");
            case Field::kOther:
                break;
        }
        return true;
    }

    bool integer(std::optional<std::int64_t> value) {
        if (field() != Field::kCategoryId || !value) {
            return ignore_or_throw();
        }
        pet_.category_id = *value;
        has_category_id_ = true;
        return true;
    }

    bool descend() {
        if (++depth_ > kMaxJsonDepth) {
            throw RequestError(kInvalidJson, "The body is nested deeper than " +
                                                 std::to_string(kMaxJsonDepth) + " levels.");
        }
        return true;
    }

    bool ascend() {
        --depth_;
        return true;
    }

    NewPet pet_;
    bool has_name_ = false;
    bool has_category_id_ = false;
    Field field_ = Field::kOther;
    int depth_ = 0;
};

}  // namespace

NewPet parse_new_pet(std::string_view body) {
    // nlohmann's lexer stops at a NUL, and would ignore the rest of the body.
    if (const std::size_t nul = body.find('\0'); nul != std::string_view::npos) {
        throw_syntax_error(nul + 1);
    }
    NewPetHandler handler;
    nlohmann::json::sax_parse(body, &handler);
    return std::move(handler).result();
}

}  // namespace petstore
