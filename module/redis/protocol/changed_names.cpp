#include "module/redis/protocol/changed_names.hpp"

#include "module/redis/protocol/lua_text.hpp"
#include "module/redis/protocol/node_script.hpp"
#include "module/redis/protocol/reply.hpp"

namespace tollgate::redis {

namespace {

/// So that a reply fits into ReplyLimits, however long the ids are.
constexpr std::size_t kMostNames = 400;

}  // namespace

const Script& changes_script() {
    static const Script script = make_node_script(
#include "module/redis/protocol/scripts/changes.lua"
    );
    return script;
}

std::optional<ChangedNames> read_changed_names(ReplyValues values) {
    const bool has_more = values.size() == 3 && values[2]->type == REDIS_REPLY_STRING;
    if ((values.size() != 2 && !has_more) || values[0]->type != REDIS_REPLY_INTEGER ||
        values[0]->integer != 1 || values[1]->type != REDIS_REPLY_ARRAY) {
        return std::nullopt;
    }
    const auto elements = elements_of(*values[1]);
    if (elements.size() > 2 * kMostNames || elements.size() % 2 != 0) {
        return std::nullopt;
    }
    ChangedNames changed;
    changed.names.reserve(elements.size() / 2);
    for (std::size_t i = 0; i < elements.size(); i += 2) {
        const redisReply& age = *elements[i + 1];
        if (elements[i]->type != REDIS_REPLY_STRING || age.type != REDIS_REPLY_INTEGER ||
            age.integer < 0) {
            return std::nullopt;
        }
        changed.names.push_back({text_of(*elements[i]), std::chrono::milliseconds(age.integer)});
    }
    if (has_more) {
        changed.next = text_of(*values[2]);
    }
    return changed;
}

}  // namespace tollgate::redis
