#include "module/redis/protocol/script.hpp"

#include "module/key/digest.hpp"

namespace tollgate::redis {

Script make_script(std::string_view text,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> names) {
    std::string full(text);
    for (const auto& [name, field] : names) {
        const auto quoted = std::string("'").append(field).append("'");
        for (auto at = full.find(name); at != std::string::npos;
             at = full.find(name, at + quoted.size())) {
            full.replace(at, name.size(), quoted);
        }
    }
    auto sha1 = sha1_hex(full);
    return {std::move(full), std::move(sha1)};
}

}  // namespace tollgate::redis
