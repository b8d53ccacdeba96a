// A stream of replies. The first byte is the size of the pieces in which it arrives.

#include <algorithm>
#include <string>
#include <vector>

#include "module/redis/protocol/changed_names.hpp"
#include "module/redis/protocol/error_scope.hpp"
#include "module/redis/protocol/log_text.hpp"
#include "module/redis/protocol/redis_time.hpp"
#include "module/redis/protocol/reply.hpp"
#include "t/fuzz/fuzz_target.hpp"
#include "t/fuzz/repeated.hpp"

namespace tollgate::fuzz {

namespace {

constexpr redis::ReplyLimits kLimits;

void describe(const redisReply& reply, std::string& text) {
    text += std::to_string(reply.type) + ":" + std::string(redis::text_of(reply));
    for (const redisReply* element : redis::elements_of(reply)) {
        describe(*element, text);
    }
}

/// What the log shows of a text is printable and has a bound, and is not escaped again.
void check_log_text(std::string_view text) {
    const redis::LogText once(text);
    const std::string_view shown = once;
    require(std::ranges::all_of(shown, [](char c) { return c >= ' ' && c <= '~'; }));
    require(shown.size() <= redis::LogText::kMost + 3);
    require(shown.size() >= std::min(text.size(), redis::LogText::kMost - 3));
    if (shown.size() <= redis::LogText::kMost) {
        require(std::string_view(redis::LogText(shown)) == shown);
    }
}

/// Reads what other code reads from a reply.
void read_values(const redisReply& reply) {
    const auto values = redis::elements_of(reply);
    if (const auto time = redis::read_time(values)) {
        require(time->time_since_epoch().count() >= 0);
        require(std::chrono::floor<std::chrono::milliseconds>(*time) <= kLatestInstant);
    }
    if (const auto names = redis::read_changed_names(values)) {
        require(names->names.size() <= 400);
    }
    const auto text = redis::text_of(reply);
    require((redis::error_action(text) == redis::ErrorAction::kNone) ||
            redis::error_scope(text) != redis::ErrorScope::kCommand);
    check_log_text(text);
}

struct Read {
    std::vector<std::string> replies;
    bool broken = false;
};

Read read(std::string_view stream, std::size_t piece) {
    redis::ReplyReader reader;
    Read result;
    std::size_t pending = 0;
    while (!stream.empty() && reader.feed(stream.substr(0, piece))) {
        pending += std::min(piece, stream.size());
        stream.remove_prefix(std::min(piece, stream.size()));
        while (const redis::ReplyPtr reply = reader.next()) {
            read_values(*reply);
            result.replies.emplace_back();
            describe(*reply, result.replies.back());
            pending = 0;
        }
        // The reader waits neither for ever nor with any amount of memory.
        require(reader.broken() || pending <= kLimits.bytes);
    }
    result.broken = reader.broken();
    return result;
}

}  // namespace

void check(std::string_view input) {
    if (input.empty()) {
        return;
    }
    const std::string stream = repeated(input.substr(1));
    constexpr std::size_t kLong = 8192;
    // A long stream in pieces of a byte takes long.
    const std::size_t piece = (static_cast<unsigned char>(input.front()) + std::size_t{1}) *
                              (stream.size() > kLong ? 64 : 1);
    const Read whole = read(stream, stream.size() + 1);
    const Read pieces = read(stream, piece);
    // A long reply that comes as a whole is accepted.
    require(pieces.broken ? pieces.replies.size() <= whole.replies.size()
                          : !whole.broken && pieces.replies.size() == whole.replies.size());
    require(std::equal(pieces.replies.begin(), pieces.replies.end(), whole.replies.begin()));
}

}  // namespace tollgate::fuzz
