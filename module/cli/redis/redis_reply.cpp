#include "module/cli/redis/redis_reply.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

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

std::int64_t stored_number(std::string_view text) {
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && rest == end ? number : 0;
}

}  // namespace tollgate::cli
