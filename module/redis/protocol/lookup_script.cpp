#include <string_view>

#include "module/key/digest.hpp"
#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

namespace {

constexpr std::string_view kText = R"lua(
-- Reads a key's record, KEYS[1]. Returns the token ARGV[1], then the fields.

local values = redis.pcall('HMGET', KEYS[1], 'id', 'name', 'plan', 'limits', 'expires', 'state')
if values.err then
    return values
end
return {ARGV[1], unpack(values)}
)lua";

}  // namespace

const Script& lookup_script() {
    static const Script script{kText, sha1_hex(kText)};
    return script;
}

}  // namespace tollgate::redis
