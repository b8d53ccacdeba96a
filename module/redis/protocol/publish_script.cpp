#include <string_view>

#include "module/redis/protocol/script.hpp"

namespace tollgate::redis {

namespace {

constexpr std::string_view kPublishText = R"lua(
-- Writes fields of the hash KEYS[1]. ARGV[1] is a token, which is returned; the names and values of the fields follow.

local done = redis.pcall('HSET', KEYS[1], unpack(ARGV, 2))
return type(done) == 'table' and done or {ARGV[1]}
)lua";

}  // namespace

const Script& publish_script() {
    static const Script script = make_script(kPublishText);
    return script;
}

}  // namespace tollgate::redis
