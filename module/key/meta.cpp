#include "module/key/meta.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "module/text/json_reader.hpp"
#include "module/text/json_writer.hpp"
#include "module/text/parse_error.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate {

namespace {

constexpr std::int64_t kLargestWhole = (std::int64_t{1} << 53U) - 1;

/// Keeps the values of one JSON object, or one value outside of an object, under an empty name.
class MetaReader final : public JsonReceiver {
  public:
    Meta take() { return std::move(meta_); }
    bool is_object() const { return is_object_; }
    const std::string& mistake() const { return mistake_; }

    bool null() override { return refuse_value(); }
    bool boolean(bool value) override { return add(value); }
    bool integer(std::int64_t value) override {
        return value >= -kLargestWhole && value <= kLargestWhole ? add(value) : refuse_value();
    }
    bool large_integer(std::uint64_t /*value*/) override { return refuse_value(); }
    bool number(double value, const std::string& text) override {
        return is_integer(text) ? refuse_value() : add(value);
    }
    bool string(std::string& value) override { return add(std::move(value)); }
    bool start_object() override { return std::exchange(is_object_, true) ? refuse_value() : true; }
    bool key(std::string& name) override {
        name_ = std::move(name);
        return true;
    }
    bool end_object() override { return true; }
    bool start_array() override { return refuse_value(); }
    bool end_array() override { return true; }
    bool invalid(std::size_t /*byte*/) override { return refuse("invalid JSON"); }

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
    bool add(MetaValue value) {
        return meta_.emplace(name_, std::move(value)).second ||
               refuse("the name " + in_quotes(name_) + " is repeated");
    }

    Meta meta_;
    std::string name_;
    std::string mistake_;
    bool is_object_ = false;
};

void read_meta(std::string_view json, MetaReader& reader) {
    // A character of the canonical form has at most six in another form.
    constexpr std::size_t kLongest = 6 * kLongestMeta;
    if (json.size() > kLongest) {
        throw ParseError("more than " + std::to_string(kLongest) + " bytes of JSON");
    }
    if (!read_json(json, reader)) {
        throw ParseError(reader.mistake());
    }
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
    MetaReader reader;
    read_meta(json, reader);
    if (!reader.is_object()) {
        throw ParseError("not an object");
    }
    Meta meta = reader.take();
    write_meta(meta);
    return meta;
}

std::optional<MetaValue> parse_meta_value(std::string_view json) {
    try {
        MetaReader reader;
        read_meta(json, reader);
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
