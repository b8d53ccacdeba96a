// A stream of replies. The first byte is the size of the pieces in which it arrives.

#include <string>
#include <vector>

#include "module/redis/protocol/changed_names.hpp"
#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/redis_time.hpp"
#include "module/redis/protocol/reply.hpp"
#include "t/fuzz/fuzz_target.hpp"

namespace tollgate::fuzz {

namespace {

void describe(const redisReply& reply, std::string& text) {
    text += std::to_string(reply.type) + ":" + std::string(redis::text_of(reply));
    for (const redisReply* element : redis::elements_of(reply)) {
        describe(*element, text);
    }
}

/// Reads what other code reads from a reply.
void read_values(const redisReply& reply) {
    const auto values = redis::elements_of(reply);
    redis::read_time(values);
    if (const auto names = redis::read_changed_names(values)) {
        require(names->size() <= 400);
    }
    redis::error_action(redis::text_of(reply));
}

std::vector<std::string> replies_of(std::string_view stream, std::size_t piece) {
    redis::ReplyReader reader;
    std::vector<std::string> replies;
    while (!stream.empty() && reader.feed(stream.substr(0, piece))) {
        stream.remove_prefix(std::min(piece, stream.size()));
        while (const redis::ReplyPtr reply = reader.next()) {
            read_values(*reply);
            replies.emplace_back();
            describe(*reply, replies.back());
        }
    }
    return replies;
}

}  // namespace

void check(std::string_view input) {
    if (input.empty()) {
        return;
    }
    const std::string_view stream = input.substr(1);
    const std::size_t piece = static_cast<unsigned char>(input.front()) + 1U;
    require(replies_of(stream, piece) == replies_of(stream, stream.size() + 1));
}

}  // namespace tollgate::fuzz
