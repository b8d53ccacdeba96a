#include "module/redis/protocol/script.hpp"

#include "module/key/digest.hpp"
#include "module/redis/protocol/lua_text.hpp"

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

std::string with_rare(std::span<const ScriptFile> files, std::string_view script) {
    std::string text = "local function rare(name)";
    for (const ScriptFile& file : files) {
        text.append("\nif name == '").append(file.name).append("' then").append(file.text);
        text.append("\nend");
    }
    return text.append("\nend").append(script);
}

const Script& probe_script() {
    static const Script script = make_script(
#include "module/redis/protocol/scripts/probe.lua"
    );
    return script;
}

const Script& transaction_script() {
    static const Script script = make_script(
#include "module/redis/protocol/scripts/transaction.lua"
    );
    return script;
}

}  // namespace tollgate::redis
