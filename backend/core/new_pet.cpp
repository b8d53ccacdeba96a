#include "backend/core/new_pet.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "backend/core/decimal.hpp"
#include "backend/core/refusal.hpp"

namespace petstore {
namespace {

[[noreturn]] void refuse_syntax(std::size_t byte) {
    throw Refusal(kInvalidJson,
                  "The body is not valid JSON in UTF-8, at byte " + std::to_string(byte) + ".");
}

/// Takes the events of nlohmann's parser, which doesn't recurse. The first thing that is wrong ends
/// the parse with a Refusal; true goes on.
class NewPetReader {
  public:
    NewPet result() && {
        if (!has_name_) {
            throw Refusal(kMissingField, R"("name" is missing; it must be a string.)");
        }
        if (!has_category_id_) {
            throw Refusal(kMissingField, R"("categoryId" is missing; it must be an integer.)");
        }
        return std::move(pet_);
    }

    bool key(std::string& name) {
        if (depth_ > 1) {
            return true;
        }
        field_ = name == "name"         ? Field::name
                 : name == "categoryId" ? Field::category_id
                 : name == "status"     ? Field::status
                                        : Field::other;
        if ((field_ == Field::name && has_name_) ||
            (field_ == Field::category_id && has_category_id_) ||
            (field_ == Field::status && pet_.status)) {
            throw Refusal(kDuplicateField, '"' + name + "\" is given more than once.");
        }
        return true;
    }

    bool string(std::string& value) {
        switch (field()) {
            case Field::name:
                pet_.name = std::move(value);
                has_name_ = true;
                return true;
            case Field::status:
                pet_.status = parse_pet_status(value);
                return pet_.status ? true : refuse_unless_ignored();
            default:
                return refuse_unless_ignored();
        }
    }

    bool number_integer(std::int64_t value) { return integer(value); }

    bool number_unsigned(std::uint64_t value) {
        constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
        return integer(value <= kMax ? std::optional{static_cast<std::int64_t>(value)}
                                     : std::nullopt);
    }

    bool number_float(double /*value*/, const std::string& digits) {
        return integer(field() == Field::category_id ? parse_json_integer(digits) : std::nullopt);
    }

    bool null() { return refuse_unless_ignored(); }
    bool boolean(bool /*value*/) { return refuse_unless_ignored(); }
    bool binary(nlohmann::json::binary_t& /*value*/) { return refuse_unless_ignored(); }
    bool start_object(std::size_t /*size*/) { return depth_ == 0 ? descend() : start_array(0); }
    bool end_object() { return ascend(); }
    bool start_array(std::size_t /*size*/) { return refuse_unless_ignored() && descend(); }
    bool end_array() { return ascend(); }

    bool parse_error(std::size_t byte, const std::string& /*token*/,
                     const nlohmann::json::exception& error) {
        constexpr int kNumberOverflow = 406;  // valid JSON, but beyond what a double can hold
        if (error.id == kNumberOverflow && refuse_unless_ignored()) {
            throw Refusal(kInvalidJson, "The body holds a number that is out of range.");
        }
        refuse_syntax(byte);
    }

  private:
    enum class Field { other, name, category_id, status };

    /// The member that the value at hand belongs to: `other` for all that is nested deeper.
    Field field() const {
        if (depth_ == 0) {
            throw Refusal(kInvalidJson, "The body must be a JSON object.");
        }
        return depth_ == 1 ? field_ : Field::other;
    }

    /// For a value that no member of a pet can take: true where it belongs to another one.
    bool refuse_unless_ignored() const {
        switch (field()) {
            case Field::name:
                throw Refusal(kInvalidField, R"("name" must be a string.)");
            case Field::category_id:
                throw Refusal(kInvalidField,
                              R"("categoryId" must be an integer from -9223372036854775808 )"
                              "to 9223372036854775807.");
            case Field::status:
                throw Refusal(kInvalidField,
                              R"("status" must be one of "available", "pending" and "sold".)");
            case Field::other:
                break;
        }
        return true;
    }

    bool integer(std::optional<std::int64_t> value) {
        if (field() != Field::category_id || !value) {
            return refuse_unless_ignored();
        }
        pet_.category_id = *value;
        has_category_id_ = true;
        return true;
    }

    bool descend() {
        if (++depth_ > kMaxJsonDepth) {
            throw Refusal(kInvalidJson, "The body is nested deeper than " +
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
    Field field_ = Field::other;
    int depth_ = 0;
};

}  // namespace

NewPet parse_new_pet(std::string_view body) {
    // nlohmann's lexer takes a NUL for the end of its input.
    if (const std::size_t nul = body.find('\0'); nul != std::string_view::npos) {
        refuse_syntax(nul + 1);
    }
    NewPetReader reader;
    nlohmann::json::sax_parse(body, &reader);
    return std::move(reader).result();
}

}  // namespace petstore
