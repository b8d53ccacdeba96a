#include "module/management/admin/json_body.hpp"

#include <cstddef>
#include <utility>

#include "module/management/operation_error.hpp"
#include "module/text/json_reader.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::management {

namespace {

/// Keeps the members of a JSON object. Throws OperationError at the first mistake.
class BodyReader final : public JsonReceiver {
  public:
    using Members = std::map<std::string, JsonBody::Member, std::less<>>;

    explicit BodyReader(std::string_view subject) : subject_(subject) {}

    Members take() { return std::move(members_); }

    bool null() override { return add(JsonBody::Null{}); }
    bool boolean(bool value) override { return add(value); }
    bool integer(std::int64_t value) override { return add(value); }
    bool large_integer(std::uint64_t /*value*/) override { refuse_large_integer(); }
    bool number(double value, const std::string& text) override {
        if (is_integer(text)) {
            refuse_large_integer();
        }
        return add(value);
    }
    bool string(std::string& value) override { return add(std::move(value)); }

    bool start_object() override {
        if (depth_ == 2) {
            add_object();
        } else if (depth_ > 0) {
            require_place();
            set(JsonBody::Object{});
        }
        ++depth_;
        return true;
    }
    bool end_object() override { return --depth_ >= 0; }
    bool key(std::string& name) override {
        std::string& target = depth_ == 1 ? name_ : inner_name_;
        target = std::move(name);
        return true;
    }
    bool start_array() override {
        require_place();
        set(JsonBody::Texts{});
        ++depth_;
        return true;
    }
    bool end_array() override { return --depth_ >= 0; }

    bool invalid(std::size_t byte) override {
        refuse(subject_ + " is not valid JSON, at byte " + std::to_string(byte));
    }

  private:
    [[noreturn]] void refuse_large_integer() const {
        if (depth_ == 0) {
            require_place();
        }
        refuse("\"" + name_ + "\" has an integer of more than 64 bits");
    }

    /// A value outside of the object, or an object or a list that is nested too deep.
    void require_place() const {
        if (depth_ != 1) {
            refuse(depth_ == 0 ? subject_ + " is not a JSON object"
                               : "\"" + name_ + "\" is nested too deep");
        }
    }

    void set(JsonBody::Member&& member) {
        if (!members_.try_emplace(name_, std::move(member)).second) {
            refuse("\"" + name_ + "\" is given twice");
        }
    }

    bool add(JsonBody::Scalar value) {
        if (depth_ >= 2) {
            add_inner(std::move(value));
        } else {
            require_place();
            set(std::move(value));
        }
        return true;
    }

    /// The object that is read, if it is one in the body or in a list of the body.
    JsonBody::Object* inner_object() {
        JsonBody::Member& member = members_.at(name_);
        auto* const objects = std::get_if<JsonBody::Objects>(&member);
        return objects != nullptr && depth_ == 3 ? &objects->back()
                                                 : std::get_if<JsonBody::Object>(&member);
    }

    /// An element of a list. All elements are objects, or none.
    void add_object() {
        JsonBody::Member& member = members_.at(name_);
        if (auto* const texts = std::get_if<JsonBody::Texts>(&member);
            texts != nullptr && texts->empty()) {
            member = JsonBody::Objects{};
        }
        auto* const objects = std::get_if<JsonBody::Objects>(&member);
        if (objects == nullptr) {
            refuse("\"" + name_ + "\" is nested too deep");
        }
        objects->emplace_back();
    }

    void add_inner(JsonBody::Scalar value) {
        JsonBody::Member& member = members_.at(name_);
        if (auto* const object = inner_object()) {
            if (!object->try_emplace(inner_name_, std::move(value)).second) {
                refuse("\"" + inner_name_ + "\" is given twice");
            }
            return;
        }
        auto* const text = std::get_if<std::string>(&value);
        auto* const texts = std::get_if<JsonBody::Texts>(&member);
        if (text == nullptr || texts == nullptr) {
            refuse("\"" + name_ + "\" has an element that is not " +
                   (texts == nullptr ? "an object" : "a text"));
        }
        texts->push_back(std::move(*text));
    }

    std::string subject_;
    Members members_;
    std::string name_;        ///< of the last member of the body
    std::string inner_name_;  ///< of the last member of an object in it
    int depth_ = 0;
};

[[noreturn]] void refuse_type(const std::string& name, const std::string& type) {
    refuse("\"" + name + "\" is not " + type);
}

}  // namespace

JsonBody::JsonBody(std::string_view text, std::string_view subject) {
    if (!text.empty()) {
        BodyReader reader(subject);
        if (text.find('\0') != std::string_view::npos) {
            refuse(std::string(subject) + " contains a zero byte");
        }
        read_json(text, reader);
        members_ = reader.take();
    }
}

JsonBody::JsonBody(const Object& object) {
    for (const auto& [name, scalar] : object) {
        members_.emplace(name, scalar);
    }
}

std::optional<std::string> JsonBody::take_text(const std::string& name) {
    auto text = take_text_or_null(name);
    if (text && text->empty()) {
        refuse_type(name, "a text that is not empty");
    }
    return text;
}

std::optional<std::string> JsonBody::take_text_or_null(const std::string& name) {
    auto member = take(name);
    if (!member) {
        return std::nullopt;
    }
    if (auto* const scalar = std::get_if<Scalar>(&*member)) {
        if (std::holds_alternative<Null>(*scalar)) {
            return "";
        }
        if (auto* const text = std::get_if<std::string>(scalar)) {
            return std::move(*text);
        }
    }
    refuse_type(name, "a text");
}

template <typename Type>
std::optional<Type> JsonBody::take_as(const std::string& name, const std::string& type) {
    auto member = take(name);
    if (!member) {
        return std::nullopt;
    }
    auto* const value = std::get_if<Type>(&*member);
    if (value == nullptr) {
        refuse_type(name, type);
    }
    return std::move(*value);
}

std::optional<JsonBody::Texts> JsonBody::take_texts(const std::string& name) {
    return take_as<Texts>(name, "a list of texts");
}

std::optional<JsonBody::Object> JsonBody::take_object(const std::string& name) {
    return take_as<Object>(name, "an object");
}

bool JsonBody::take_null(const std::string& name) {
    const auto found = members_.find(name);
    if (found == members_.end() || found->second != Member(Scalar(Null{}))) {
        return false;
    }
    members_.erase(found);
    return true;
}

JsonBody::Objects JsonBody::take_objects(const std::string& name) {
    const auto found = members_.find(name);
    if (found != members_.end() && found->second == Member(Texts{})) {
        found->second = Objects{};
    }
    return take_as<Objects>(name, "a list of objects").value_or(Objects{});
}

template <typename Type>
std::optional<Type> JsonBody::take_scalar(const std::string& name, const std::string& type) {
    auto scalar = take_as<Scalar>(name, type);
    if (scalar && !std::holds_alternative<Type>(*scalar)) {
        refuse_type(name, type);
    }
    return scalar ? std::optional(std::get<Type>(std::move(*scalar))) : std::nullopt;
}

std::optional<bool> JsonBody::take_flag(const std::string& name) {
    return take_scalar<bool>(name, "true or false");
}

std::optional<std::int64_t> JsonBody::take_number(const std::string& name) {
    return take_scalar<std::int64_t>(name, "a whole number");
}

void JsonBody::require_empty() const {
    if (!members_.empty()) {
        refuse("\"" + members_.begin()->first + "\" is not a member here");
    }
}

std::optional<JsonBody::Member> JsonBody::take(const std::string& name) {
    auto node = members_.extract(name);
    return node ? std::optional(std::move(node.mapped())) : std::nullopt;
}

}  // namespace tollgate::management
