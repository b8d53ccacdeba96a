#include "module/text/json_reader.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace tollgate {

namespace {

/// Passes on what nlohmann's SAX parser finds. It makes no value of nlohmann_json, whose destructor
/// allocates memory.
class PartsOfJson {
  public:
    explicit PartsOfJson(JsonReceiver& receiver) : receiver_(receiver) {}

    bool null() { return receiver_.null(); }
    bool boolean(bool value) { return receiver_.boolean(value); }
    bool number_integer(std::int64_t value) { return receiver_.integer(value); }
    bool number_unsigned(std::uint64_t value) {
        return std::in_range<std::int64_t>(value)
                   ? receiver_.integer(static_cast<std::int64_t>(value))
                   : receiver_.large_integer(value);
    }
    /// nlohmann_json reads an integer of more than 64 bits as a float.
    bool number_float(double value, const std::string& text) {
        return receiver_.number(value, text);
    }
    bool string(std::string& value) { return receiver_.string(value); }
    /// JSON has none.
    static bool binary(nlohmann::json::binary_t& /*value*/) { return false; }
    bool start_object(std::size_t /*size*/) { return receiver_.start_object(); }
    bool key(std::string& name) { return receiver_.key(name); }
    bool end_object() { return receiver_.end_object(); }
    bool start_array(std::size_t /*size*/) { return receiver_.start_array(); }
    bool end_array() { return receiver_.end_array(); }
    bool parse_error(std::size_t byte, const std::string& /*token*/,
                     const nlohmann::json::exception& /*error*/) {
        return receiver_.invalid(byte);
    }

  private:
    JsonReceiver& receiver_;
};

/// Keeps a text that is the whole JSON text.
class TextReceiver final : public JsonReceiver {
  public:
    std::string take() { return std::move(text_); }

    bool null() override { return false; }
    bool boolean(bool /*value*/) override { return false; }
    bool integer(std::int64_t /*value*/) override { return false; }
    bool large_integer(std::uint64_t /*value*/) override { return false; }
    bool number(double /*value*/, const std::string& /*text*/) override { return false; }
    bool string(std::string& value) override {
        text_ = std::move(value);
        return true;
    }
    bool start_object() override { return false; }
    bool key(std::string& /*name*/) override { return false; }
    bool end_object() override { return false; }
    bool start_array() override { return false; }
    bool end_array() override { return false; }
    bool invalid(std::size_t /*byte*/) override { return false; }

  private:
    std::string text_;
};

}  // namespace

bool read_json(std::string_view text, JsonReceiver& receiver) {
    PartsOfJson parts(receiver);
    return nlohmann::json::sax_parse(text, &parts);
}

bool is_json_text(std::string_view text) {
    // nlohmann_json ignores what follows a zero byte.
    return text.find('\0') == std::string_view::npos && nlohmann::json::accept(text);
}

std::optional<std::string> without_json_escapes(std::string_view text) {
    TextReceiver receiver;
    const std::string quoted = '"' + std::string(text) + '"';
    return read_json(quoted, receiver) ? std::optional(receiver.take()) : std::nullopt;
}

}  // namespace tollgate
