#include "module/redis/protocol/value.hpp"

#include <algorithm>
#include <iterator>

#include "module/plan/units.hpp"
#include "module/plan/window.hpp"
#include "module/text/whole_number.hpp"

namespace tollgate::redis {

std::vector<std::string> Value::texts() const {
    std::vector<std::string> texts;
    texts.reserve(elements.size());
    std::ranges::transform(elements, std::back_inserter(texts), &Value::text);
    return texts;
}

HashFields Value::fields() const {
    return HashFields(*this);
}

HashFields::HashFields(const Value& hash) {
    for (std::size_t i = 0; i + 1 < hash.elements.size(); i += 2) {
        fields_.emplace(hash.elements[i].text, hash.elements[i + 1].text);
    }
}

std::string_view HashFields::operator[](std::string_view name) const {
    const auto found = fields_.find(name);
    return found == fields_.end() ? std::string_view() : found->second;
}

Value copy_of(const redisReply& reply) {
    Value copy;
    switch (reply.type) {
        case REDIS_REPLY_INTEGER:
            copy.kind = Value::Kind::kInteger;
            copy.integer = reply.integer;
            break;
        case REDIS_REPLY_STRING:
        case REDIS_REPLY_STATUS:
            copy.kind = Value::Kind::kText;
            copy.text.assign(reply.str, reply.len);
            break;
        case REDIS_REPLY_ERROR:
            copy.kind = Value::Kind::kError;
            copy.text.assign(reply.str, reply.len);
            break;
        case REDIS_REPLY_ARRAY:
            copy.kind = Value::Kind::kArray;
            for (std::size_t i = 0; i < reply.elements; ++i) {
                copy.elements.push_back(copy_of(*reply.element[i]));
            }
            break;
        default:
            break;
    }
    return copy;
}

std::int64_t number_or_zero(std::string_view text) {
    constexpr std::int64_t kMost = kLatestInstant.time_since_epoch().count();
    return parse_whole_number(text, -kMost, kMost).value_or(0);
}

std::int64_t units_or_zero(std::string_view text) {
    return parse_whole_number(text, -Units::kMost, Units::kMost).value_or(0);
}

}  // namespace tollgate::redis
