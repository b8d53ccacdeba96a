#include "module/redis/protocol/node_script.hpp"

#include <string>

#include "module/redis/protocol/error_scope.hpp"

namespace tollgate::redis {

namespace {

constexpr std::string_view kBegin = R"lua(
local function script()
)lua";

// An error of redis.call is raised, and the one of redis.pcall may be returned. Redis 6 puts the
// place in the script before the code.
constexpr std::string_view kEnd = R"lua(
end
local done, result = pcall(script)
if done and not (type(result) == 'table' and result.err) then
    return result
end
local text = (done and result.err or tostring(result)):gsub('^.*@user_script: ?%d+: ', ''):gsub('^%-', '')
if (kErrorsOfServers):find(' ' .. text:match('^%S*') .. ' ', 1, true) then
    return {err = text}
end
return {ARGV[1], {text}}
)lua";

}  // namespace

Script make_node_script(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string_view>> names) {
    const Script plain = make_script(text, names);
    const std::string end =
        make_script(kEnd, {{"kErrorsOfServers", error_codes_with_action()}}).text;
    return make_script(std::string(kBegin).append(plain.text).append(end));
}

std::optional<std::string_view> read_refusal(ReplyValues values) {
    if (values.size() != 1 || values.front()->type != REDIS_REPLY_ARRAY) {
        return std::nullopt;
    }
    const auto texts = elements_of(*values.front());
    const bool is_text = texts.size() == 1 && texts.front()->type == REDIS_REPLY_STRING;
    return is_text ? std::optional(text_of(*texts.front())) : std::nullopt;
}

}  // namespace tollgate::redis
