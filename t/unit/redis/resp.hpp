#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "module/redis/protocol/reply.hpp"

namespace tollgate::redis::resp {

/// Values in RESP, as a server sends them.
inline const std::string kNil = "$-1\r\n";
inline std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}
inline std::string number(long long value) {
    return ":" + std::to_string(value) + "\r\n";
}
inline std::string error(std::string_view message) {
    return "-" + std::string(message) + "\r\n";
}
inline std::string array(std::initializer_list<std::string> elements) {
    std::string text = "*" + std::to_string(elements.size()) + "\r\n";
    for (const auto& element : elements) {
        text += element;
    }
    return text;
}

/// The reply of this text. Throws std::logic_error if it is not one complete reply.
inline ReplyPtr parsed(std::string_view text, ReplyLimits limits = {}) {
    ReplyReader reader(limits);
    reader.feed(text);
    ReplyPtr reply = reader.next();
    if (!reply || reader.next() || reader.broken()) {
        throw std::logic_error("not one reply: " + std::string(text.substr(0, 200)));
    }
    return reply;
}

}  // namespace tollgate::redis::resp
