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

/// The JSON object in the body of a request. A member is a JSON null, a boolean, a number, a text,
/// a list of texts, or an object of JSON values that are neither objects nor lists.
class JsonBody {
  public:
    struct Null {
        bool operator==(const Null&) const = default;
    };
    using Scalar = std::variant<Null, bool, std::int64_t, double, std::string>;
    using Texts = std::vector<std::string>;
    using Object = std::map<std::string, Scalar, std::less<>>;
    using Member = std::variant<Scalar, Texts, Object>;

    /// Parses a body. An empty body is an object without members. Throws OperationError with
    /// Reason::kInvalid if it is not a JSON object, if a member is given twice, or if it is nested
    /// deeper than this.
    explicit JsonBody(std::string_view text);

    /// The member with this name, and removes it; nullopt if there is none. What is left in the end
    /// is unknown: see require_empty(). Each throws OperationError with Reason::kInvalid if the
    /// member has another type.
    std::optional<std::string> take_text(const std::string& name);
    /// The same for a member that may be null, which is an empty text.
    std::optional<std::string> take_text_or_null(const std::string& name);
    std::optional<Texts> take_texts(const std::string& name);
    std::optional<Object> take_object(const std::string& name);
    /// Whether the member is null. Only then it is removed.
    bool take_null(const std::string& name);

    /// Throws OperationError with Reason::kInvalid if a member is left.
    void require_empty() const;

  private:
    std::optional<Member> take(const std::string& name);

    std::map<std::string, Member, std::less<>> members_;
};

}  // namespace tollgate::management
