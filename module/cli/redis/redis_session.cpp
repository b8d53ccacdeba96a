#include "module/cli/redis/redis_session.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "module/cli/failure.hpp"
#include "module/redis/protocol/reply.hpp"

namespace tollgate::cli {

namespace {

// Long enough for a busy server. A command for a dead server ends soon enough.
constexpr timeval kTimeout{.tv_sec = 5, .tv_usec = 0};

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

struct CommandDeleter {
    void operator()(char* command) const { redisFreeCommand(command); }
};

/// The first line of the file.
std::string read_password(const std::string& path) {
    std::ifstream file(path);
    std::string password;
    std::getline(file, password);
    if (!password.empty() && password.back() == '\r') {
        password.pop_back();
    }
    if (password.empty()) {
        throw Failure(ExitStatus::kUsage,
                      "no password can be read from the first line of the password_file " + path);
    }
    return password;
}

void require_success(const RedisReply& reply) {
    if (reply.kind == RedisReply::Kind::kError) {
        throw Failure(ExitStatus::kRedis, "Redis replies with an error: " + reply.text);
    }
    std::ranges::for_each(reply.elements, require_success);
}

}  // namespace

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

RedisSession::RedisSession(RedisUrl url) : url_(std::move(url)) {
    if (!url_.password_file.empty()) {
        url_.password = read_password(url_.password_file);
    }
    reconnect();
}

void RedisSession::reconnect() {
    connect();
    log_in();
    if (url_.database != 0) {
        run({"SELECT", std::to_string(url_.database)});
    }
}

void RedisSession::connect() {
    if (url_.tls.on) {
        try {
            tls_ = std::make_unique<TlsConnection>(url_);
        } catch (const std::runtime_error& e) {
            fail_connection(e.what());
        }
        return;
    }
    context_.reset(url_.path.empty()
                       ? redisConnectWithTimeout(url_.host.c_str(), url_.port, kTimeout)
                       : redisConnectUnixWithTimeout(url_.path.c_str(), kTimeout));
    if (!context_ || context_->err != 0 || redisSetTimeout(context_.get(), kTimeout) != REDIS_OK) {
        fail_connection();
    }
}

void RedisSession::log_in() {
    if (url_.password.empty()) {
        return;
    }
    append(url_.user.empty() ? RedisCommand{"AUTH", url_.password}
                             : RedisCommand{"AUTH", url_.user, url_.password});
    const auto reply = receive();
    if (reply.kind == RedisReply::Kind::kError) {
        // Print only the error code: some of these messages contain the arguments of the command.
        throw Failure(ExitStatus::kRedis, "Redis at " + url_.address() +
                                              " refuses the user or password (" +
                                              reply.text.substr(0, reply.text.find(' ')) + ")");
    }
}

RedisReply RedisSession::run(const RedisCommand& command) {
    append(command);
    auto reply = receive();
    require_success(reply);
    return reply;
}

std::optional<RedisReply> RedisSession::run_if_accepted(const RedisCommand& command) {
    append(command);
    auto reply = receive();
    return reply.kind == RedisReply::Kind::kError ? std::nullopt : std::optional(std::move(reply));
}

std::vector<RedisReply> RedisSession::run_all(std::span<const RedisCommand> commands) {
    for (const auto& command : commands) {
        append(command);
    }
    std::vector<RedisReply> replies;
    replies.reserve(commands.size());
    std::generate_n(std::back_inserter(replies), commands.size(), [this] { return receive(); });
    std::ranges::for_each(replies, require_success);
    return replies;
}

std::optional<std::vector<RedisReply>> RedisSession::run_atomically(
    std::vector<RedisCommand> commands) {
    commands.insert(commands.begin(), RedisCommand{"MULTI"});
    commands.push_back(RedisCommand{"EXEC"});
    auto executed = std::move(run_all(commands).back());
    if (executed.is_nil()) {
        return std::nullopt;
    }
    return std::move(executed.elements);
}

void RedisSession::append(const RedisCommand& command) {
    std::vector<const char*> words;
    std::vector<std::size_t> lengths;
    for (const auto& word : command) {
        words.push_back(word.data());
        lengths.push_back(word.size());
    }
    if (tls_ != nullptr) {
        char* encoded = nullptr;
        const auto length = redisFormatCommandArgv(&encoded, static_cast<int>(command.size()),
                                                   words.data(), lengths.data());
        if (length < 0) {
            fail_connection("out of memory");
        }
        const std::unique_ptr<char, CommandDeleter> owner(encoded);
        tls_->append({encoded, static_cast<std::size_t>(length)});
        return;
    }
    if (redisAppendCommandArgv(context_.get(), static_cast<int>(command.size()), words.data(),
                               lengths.data()) != REDIS_OK) {
        fail_connection();
    }
}

RedisReply RedisSession::receive() {
    return copy_of(*next_reply());
}

redis::ReplyPtr RedisSession::next_reply() {
    if (tls_ != nullptr) {
        try {
            return tls_->receive();
        } catch (const std::runtime_error& e) {
            fail_connection(e.what());
        }
    }
    void* received = nullptr;
    if (redisGetReply(context_.get(), &received) != REDIS_OK) {
        fail_connection();
    }
    return redis::ReplyPtr(static_cast<redisReply*>(received));
}

void RedisSession::fail_connection() const {
    fail_connection(context_ ? context_->errstr : "out of memory");
}

void RedisSession::fail_connection(const std::string& reason) const {
    throw Failure(ExitStatus::kRedis,
                  "no connection to Redis at " + url_.address() + ": " + reason);
}

}  // namespace tollgate::cli
