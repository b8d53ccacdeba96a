#include "module/redis/protocol/flight_call.hpp"

#include <array>
#include <limits>

#include "module/redis/protocol/lua_text.hpp"
#include "module/redis/protocol/node_script.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::redis {

const Script& flight_script() {
    static constexpr std::array kRecall{ScriptFile{
        "recall",
#include "module/redis/protocol/scripts/recall.lua"
    }};
    // Beside an included text, which is consteval, clang 14 destroys a temporary in each later
    // call, which has not made it.
    static const Script script = [] {
        const std::string text = with_rare(kRecall,
#include "module/redis/protocol/scripts/flight.lua"
        );
        return make_node_script(text, {{"kPlacesOf", kPlacesOf}});
    }();
    return script;
}

Call flight_call(const Keys& keys, const PlacesWanted& wanted) {
    Call call{&flight_script(), {keys.flight(wanted.id)}, {wanted.id, wanted.table, wanted.node}};
    call.arguments.add(wanted.limit);
    call.arguments.add(wanted.places);
    call.arguments.add(wanted.lifetime.count());
    call.arguments.add(wanted.version == 0 ? std::string() : std::to_string(wanted.version));
    call.arguments.add(keys.events());
    call.arguments.add(wanted.deadline.time_since_epoch().count());
    call.arguments.add(wanted.running);
    return call;
}

std::optional<PlacesGiven> read_places(ReplyValues values) {
    if (values.size() != 4 || values[0]->type != REDIS_REPLY_INTEGER ||
        values[2]->type != REDIS_REPLY_INTEGER || values[3]->type != REDIS_REPLY_INTEGER) {
        return std::nullopt;
    }
    const auto version =
        parse_whole_number(text_of(*values[1]), 0, std::numeric_limits<std::int64_t>::max());
    if (!version || values[0]->integer < 0 || values[2]->integer < 0) {
        return std::nullopt;
    }
    return PlacesGiven{values[0]->integer, *version, values[2]->integer, values[3]->integer != 0};
}

}  // namespace tollgate::redis
