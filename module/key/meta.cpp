#include "module/key/meta.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "module/text/json_writer.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate {

namespace {

constexpr std::int64_t kLargestWhole = (std::int64_t{1} << 53U) - 1;

/// Receives the parts of a JSON text. It makes no value of nlohmann_json, whose destructor
/// allocates memory. Keeps the values of one object, or one value outside of an object, under an
/// empty name.
class MetaReader : public nlohmann::json_sax<nlohmann::json> {
  public:
    Meta take() { return std::move(meta_); }
    bool is_object() const { return is_object_; }
    const std::string& mistake() const { return mistake_; }

    bool null() override { return refuse_value(); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add_whole(value); }
    bool number_unsigned(number_unsigned_t value) override {
        return std::cmp_less_equal(value, kLargestWhole)
                   ? add_whole(static_cast<std::int64_t>(value))
                   : refuse_value();
    }
    bool number_float(number_float_t value, const string_t& text) override {
        return is_integer(text) ? refuse_value() : add(value);
    }
    bool string(string_t& value) override { return add(std::move(value)); }
    bool binary(binary_t& /*value*/) override { return refuse_value(); }
    bool start_object(std::size_t /*size*/) override {
        return std::exchange(is_object_, true) ? refuse_value() : true;
    }
    bool key(string_t& name) override {
        name_ = std::move(name);
        return true;
    }
    bool end_object() override { return true; }
    bool start_array(std::size_t /*size*/) override { return refuse_value(); }
    bool end_array() override { return true; }
    bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                     const nlohmann::json::exception& /*error*/) override {
        return refuse("invalid JSON");
    }

  private:
    bool refuse(std::string mistake) {
        mistake_ = std::move(mistake);
        return false;
    }
    bool refuse_value() {
        return refuse(is_object_ ? "the value of " + in_quotes(name_) +
                                       " is not a string, a boolean or a number that JSON readers "
                                       "agree on"
                                 : "not an object");
    }
    bool add_whole(std::int64_t value) {
        return value >= -kLargestWhole && value <= kLargestWhole ? add(value) : refuse_value();
    }
    bool add(MetaValue value) {
        return meta_.emplace(name_, std::move(value)).second ||
               refuse("the name " + in_quotes(name_) + " is repeated");
    }

    Meta meta_;
    std::string name_;
    std::string mistake_;
    bool is_object_ = false;
};

MetaReader read_json(std::string_view json) {
    // A character of the canonical form has at most six in another form.
    constexpr std::size_t kLongest = 6 * kLongestMeta;
    if (json.size() > kLongest) {
        throw ParseError("more than " + std::to_string(kLongest) + " bytes of JSON");
    }
    MetaReader reader;
    if (!nlohmann::json::sax_parse(json, &reader)) {
        throw ParseError(reader.mistake());
    }
    return reader;
}

bool is_valid_value(const MetaValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        return std::ranges::none_of(*text, [](char c) {
            const auto byte = static_cast<unsigned char>(c);
            return byte < 0x20 || byte == 0x7f;
        });
    }
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        return *whole >= -kLargestWhole && *whole <= kLargestWhole;
    }
    const auto* number = std::get_if<double>(&value);
    return number == nullptr || std::isfinite(*number);
}

}  // namespace

bool is_valid_meta_name(std::string_view name) {
    constexpr std::size_t kLongest = 32;
    return !name.empty() && name.size() <= kLongest && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
}

Meta parse_meta(std::string_view json) {
    MetaReader reader = read_json(json);
    if (!reader.is_object()) {
        throw ParseError("not an object");
    }
    Meta meta = reader.take();
    write_meta(meta);
    return meta;
}

std::optional<MetaValue> parse_meta_value(std::string_view json) {
    try {
        MetaReader reader = read_json(json);
        Meta values = reader.take();
        if (!reader.is_object() && is_valid_value(values.begin()->second)) {
            return std::move(values.begin()->second);
        }
    } catch (const ParseError&) {
        return std::nullopt;
    }
    return std::nullopt;
}

std::string write_meta(const Meta& meta) {
    if (meta.empty()) {
        return {};
    }
    if (meta.size() > kMostMetaMembers) {
        throw ParseError("more than " + std::to_string(kMostMetaMembers) + " members");
    }
    JsonWriter json;
    json.object([&] {
        for (const auto& [name, value] : meta) {
            if (!is_valid_meta_name(name)) {
                throw ParseError("invalid name " + in_quotes(name) + ": use " +
                                 std::string(kMetaNameRule));
            }
            if (!is_valid_value(value)) {
                throw ParseError("invalid value of " + in_quotes(name) +
                                 ": use a text without control characters, a boolean or a number "
                                 "below 2^53");
            }
            json.name(name);
            std::visit([&](const auto& its_value) { json.value(its_value); }, value);
        }
    });
    std::string text = std::move(json).take();
    if (text.size() > kLongestMeta) {
        throw ParseError("more than " + std::to_string(kLongestMeta) + " bytes");
    }
    return text;
}

std::string meta_text(const MetaValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        return *text;
    }
    JsonWriter json;
    std::visit([&](const auto& its_value) { json.value(its_value); }, value);
    return std::move(json).take();
}

}  // namespace tollgate
