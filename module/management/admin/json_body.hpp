#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tollgate::management {

/// The JSON object in the body of a request, or in a line of an import. A member is a JSON null, a
/// boolean, a number, a text, a list of texts, an object of JSON values that are neither objects
/// nor lists, or a list of such objects.
class JsonBody {
  public:
    struct Null {
        bool operator==(const Null&) const = default;
    };
    using Scalar = std::variant<Null, bool, std::int64_t, double, std::string>;
    using Texts = std::vector<std::string>;
    using Object = std::map<std::string, Scalar, std::less<>>;
    using Objects = std::vector<Object>;
    using Member = std::variant<Scalar, Texts, Object, Objects>;

    /// Parses a body. An empty body is an object without members. Throws OperationError with
    /// Reason::kInvalid if it is not a JSON object, if a member is given twice, or if it is nested
    /// deeper than this. `subject` is what the messages call the text.
    explicit JsonBody(std::string_view text, std::string_view subject = "the body");

    /// An element of a list of objects.
    explicit JsonBody(const Object& object);

    /// The member with this name, and removes it; nullopt if there is none. What is left in the end
    /// is unknown: see require_empty(). Each throws OperationError with Reason::kInvalid if the
    /// member has another type.
    std::optional<std::string> take_text(const std::string& name);
    /// The member with this name, and removes it; nullopt if there is none. A member that is null
    /// is an empty text. Throws OperationError with Reason::kInvalid if it is neither null nor a
    /// text.
    std::optional<std::string> take_text_or_null(const std::string& name);
    std::optional<Texts> take_texts(const std::string& name);
    std::optional<Object> take_object(const std::string& name);
    /// Whether the member is null. Only then it is removed.
    bool take_null(const std::string& name);
    /// The elements of a list of objects. Empty if there is none.
    Objects take_objects(const std::string& name);
    std::optional<bool> take_flag(const std::string& name);
    /// A number with a fraction, or beyond 64 bits, has another type.
    std::optional<std::int64_t> take_number(const std::string& name);

    /// Whether a member with this name is left.
    bool has(const std::string& name) const { return members_.contains(name); }
    /// Throws OperationError with Reason::kInvalid if a member is left.
    void require_empty() const;

  private:
    std::optional<Member> take(const std::string& name);
    template <typename Type>
    std::optional<Type> take_as(const std::string& name, const std::string& type);
    template <typename Type>
    std::optional<Type> take_scalar(const std::string& name, const std::string& type);

    std::map<std::string, Member, std::less<>> members_;
};

}  // namespace tollgate::management
