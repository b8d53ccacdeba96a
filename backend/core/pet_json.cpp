#include "backend/core/pet_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace petstore {
namespace {

bool is_plain(char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/// Most names are plain ASCII, which needs neither escapes nor a check.
void append_string(std::string& out, std::string_view text) {
    if (std::all_of(text.begin(), text.end(), is_plain)) {
        out += '"';
        out += text;
        out += '"';
    } else {
        constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
        out += nlohmann::json(text).dump(-1, ' ', false, kReplace);
    }
}

}  // namespace

void append_json(std::string& out, const Pet& pet) {
    out += R"({"id":)";
    out += std::to_string(pet.id);
    out += R"(,"name":)";
    append_string(out, pet.name);
    out += R"(,"categoryId":)";
    out += std::to_string(pet.category_id);
    if (pet.status) {
        out += R"(,"status":)";
        append_string(out, to_string(*pet.status));
    }
    out += '}';
}

void append_error_json(std::string& out, ErrorKind kind, std::string_view message) {
    out += R"({"code":)";
    append_string(out, kind.code);
    out += R"(,"message":)";
    append_string(out, message);
    out += R"(,"status":)";
    out += std::to_string(kind.status);
    out += '}';
}

}  // namespace petstore
