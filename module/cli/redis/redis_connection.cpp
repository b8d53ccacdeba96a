#include "module/cli/redis/redis_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace tollgate::cli {

namespace {

timeval timeval_of(std::chrono::milliseconds time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    return {.tv_sec = seconds.count(),
            .tv_usec = std::chrono::microseconds(time - seconds).count()};
}

}  // namespace

std::string Endpoint::text() const {
    return path.empty() ? to_text(address) : "unix:" + path;
}

RedisConnection::RedisConnection(Endpoint endpoint, const Login& login, const TlsOptions& tls,
                                 std::chrono::milliseconds timeout)
    : endpoint_(std::move(endpoint)) {
    connect(tls, timeout);
    log_in(login);
}

void RedisConnection::connect(const TlsOptions& tls, std::chrono::milliseconds timeout) {
    if (tls.on) {
        try {
            tls_ = std::make_unique<TlsConnection>(endpoint_.address, tls, timeout);
        } catch (const std::runtime_error& e) {
            fail_connection(e.what());
        }
        return;
    }
    const auto time = timeval_of(timeout);
    const auto& [host, port] = endpoint_.address;
    context_.reset(endpoint_.path.empty()
                       ? redisConnectWithTimeout(host.c_str(), port, time)
                       : redisConnectUnixWithTimeout(endpoint_.path.c_str(), time));
    if (!context_ || context_->err != 0 || redisSetTimeout(context_.get(), time) != REDIS_OK) {
        fail_connection();
    }
}

void RedisConnection::log_in(const Login& login) {
    if (login.password.empty()) {
        return;
    }
    const auto reply = ask(login.user.empty() ? redis::Command{"AUTH", login.password}
                                              : redis::Command{"AUTH", login.user, login.password});
    if (reply.is_error()) {
        // Print only the error code: some of these messages contain the arguments of the command.
        const auto code = reply.text.substr(0, reply.text.find(' '));
        // The general error comes from a server where `default` has no password, or without users.
        const std::string hint = code == "ERR" ? ": it may not require a password" : "";
        throw LoginRefused(ExitStatus::kRedis, endpoint_.service + " at " + endpoint_.text() +
                                                   " refuses the user or password (" + code + ")" +
                                                   hint);
    }
}

void RedisConnection::append(const redis::Command& command) {
    redis::Words words;
    for (const auto& word : command) {
        words.add(word);
    }
    append(words);
}

void RedisConnection::append(const redis::Words& words) {
    std::string bytes;
    redis::append_command(bytes, words);
    if (tls_ != nullptr) {
        tls_->append(bytes);
    } else if (redisAppendFormattedCommand(context_.get(), bytes.data(), bytes.size()) !=
               REDIS_OK) {
        fail_connection();
    }
}

redis::ReplyPtr RedisConnection::receive() {
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

redis::Value RedisConnection::ask(const redis::Command& command) {
    append(command);
    return redis::copy_of(*receive());
}

std::vector<redis::Value> RedisConnection::ask_all(std::span<const redis::Command> commands) {
    for (const auto& command : commands) {
        append(command);
    }
    std::vector<redis::Value> replies;
    replies.reserve(commands.size());
    std::generate_n(std::back_inserter(replies), commands.size(),
                    [this] { return redis::copy_of(*receive()); });
    return replies;
}

void RedisConnection::select(std::uint32_t database) {
    if (database != 0) {
        require_success(ask({"SELECT", std::to_string(database)}));
    }
}

void RedisConnection::fail_connection() const {
    std::string reason = "out of memory";
    if (context_) {
        // hiredis reports a timeout as EAGAIN.
        const bool is_late = context_->err == REDIS_ERR_IO && errno == EAGAIN;
        reason = is_late ? "no reply in time" : context_->errstr;
    }
    fail_connection(reason);
}

void RedisConnection::fail_connection(const std::string& reason) const {
    throw Failure(ExitStatus::kRedis, "no connection to " + endpoint_.service + " at " +
                                          endpoint_.text() + ": " + reason);
}

}  // namespace tollgate::cli
