#include "module/cli/redis/redis_reply.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "module/cli/failure.hpp"

namespace tollgate::cli {

std::vector<std::string> RedisReply::texts() const {
    std::vector<std::string> texts;
    texts.reserve(elements.size());
    std::ranges::transform(elements, std::back_inserter(texts), &RedisReply::text);
    return texts;
}

std::map<std::string_view, std::string_view> RedisReply::fields() const {
    std::map<std::string_view, std::string_view> fields;
    for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
        fields.emplace(elements[i].text, elements[i + 1].text);
    }
    return fields;
}

RedisReply copy_of(const redisReply& reply) {
    RedisReply copy;
    switch (reply.type) {
        case REDIS_REPLY_INTEGER:
            copy.kind = RedisReply::Kind::kInteger;
            copy.integer = reply.integer;
            break;
        case REDIS_REPLY_STRING:
        case REDIS_REPLY_STATUS:
            copy.kind = RedisReply::Kind::kText;
            copy.text.assign(reply.str, reply.len);
            break;
        case REDIS_REPLY_ERROR:
            copy.kind = RedisReply::Kind::kError;
            copy.text.assign(reply.str, reply.len);
            break;
        case REDIS_REPLY_ARRAY:
            copy.kind = RedisReply::Kind::kArray;
            for (std::size_t i = 0; i < reply.elements; ++i) {
                copy.elements.push_back(copy_of(*reply.element[i]));
            }
            break;
        default:
            break;
    }
    return copy;
}

void require_success(const RedisReply& reply) {
    if (reply.is_error()) {
        throw Failure(ExitStatus::kRedis, "Redis replies with an error: " + reply.text);
    }
    std::ranges::for_each(reply.elements, require_success);
}

std::int64_t number_or_zero(std::string_view text) {
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && rest == end ? number : 0;
}

Instant time_of_reply(const RedisReply& time) {
    const std::chrono::seconds seconds(number_or_zero(time.elements.at(0).text));
    const std::chrono::microseconds rest(number_or_zero(time.elements.at(1).text));
    return Instant(seconds + std::chrono::floor<std::chrono::milliseconds>(rest));
}

std::string escape_glob(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) {
            pattern += '\\';
        }
        pattern += c;
    }
    return pattern;
}

std::optional<std::string_view> key_of(const RedisCommand& command) {
    constexpr std::array<std::string_view, 6> kWithoutKey{"DBSIZE", "PUBLISH", "ROLE",
                                                          "SCAN",   "TIME",    "WAIT"};
    if (command.size() < 2 ||
        std::ranges::find(kWithoutKey, std::string_view(command.front())) != kWithoutKey.end()) {
        return std::nullopt;
    }
    return command[1];
}

}  // namespace tollgate::cli
