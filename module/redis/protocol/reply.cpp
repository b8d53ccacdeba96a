#include "module/redis/protocol/reply.hpp"

#include <charconv>
#include <new>
#include <utility>

namespace tollgate::redis {

namespace {

// What differs between hiredis 0.14 (Debian 12) and 1.x (Debian 13) in the reader of replies.
#if HIREDIS_MAJOR >= 1
/// The length that redisReplyObjectFunctions::createArray gets: size_t since 1.0.
using ArrayLength = std::size_t;

/// The element that a reader is in the middle of. There must be one: `ridx` is not negative.
/// Since 1.0, tasks are allocated one by one.
const redisReadTask& current_task(const redisReader& reader) {
    return *reader.task[reader.ridx];
}
#else
using ArrayLength = int;

const redisReadTask& current_task(const redisReader& reader) {
    return reader.rstack[reader.ridx];
}
#endif

/// The reply object functions of hiredis, with a limit for arrays. hiredis allocates an array with
/// the length that the reply declares.
redisReplyObjectFunctions* bounded_functions(const redisReader& reader) {
    static redisReplyObjectFunctions functions;
    static void* (*create_array)(const redisReadTask*, ArrayLength) = nullptr;
    if (create_array == nullptr) {
        functions = *reader.fn;
        create_array = functions.createArray;
        functions.createArray = [](const redisReadTask* task, ArrayLength elements) -> void* {
            const auto& limits = *static_cast<const ReplyLimits*>(task->privdata);
            const bool is_too_long = std::cmp_greater(elements, limits.elements);
            return is_too_long ? nullptr : create_array(task, elements);
        };
    }
    return &functions;
}

}  // namespace

std::string_view text_of(const redisReply& reply) {
    const bool is_text = reply.type == REDIS_REPLY_STRING || reply.type == REDIS_REPLY_STATUS ||
                         reply.type == REDIS_REPLY_ERROR;
    return is_text ? std::string_view(reply.str, reply.len) : std::string_view();
}

std::span<const redisReply* const> elements_of(const redisReply& reply) {
    if (reply.type != REDIS_REPLY_ARRAY) {
        return {};
    }
    return {reply.element, reply.elements};
}

ReplyReader::ReplyReader(ReplyLimits limits)
    : limits_(std::make_unique<const ReplyLimits>(limits)), reader_(redisReaderCreate()) {
    if (!reader_) {
        throw std::bad_alloc();
    }
    reader_->fn = bounded_functions(*reader_);
    reader_->privdata = const_cast<ReplyLimits*>(limits_.get());
}

bool ReplyReader::feed(std::string_view bytes) {
    if (!broken() && redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
        error_ = redisReaderGetError(reader_.get());
    }
    fed_ += bytes.size();
    return !broken();
}

ReplyPtr ReplyReader::next() {
    void* reply = nullptr;
    if (broken()) {
        return nullptr;
    }
    if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
        error_ = redisReaderGetError(reader_.get());
        return nullptr;
    }
    ReplyPtr owner(static_cast<redisReply*>(reply));
    if (owner) {
        fed_ = 0;
    } else if (awaits_too_much()) {
        error_ = "reply too large";
    }
    return owner;
}

/// Whether an incomplete reply is too large: it is too long, as a string or as many small elements,
/// or it ends with a string length that exceeds the limit.
bool ReplyReader::awaits_too_much() const {
    if (fed_ > limits_->bytes) {
        return true;
    }
    const std::string_view rest(reader_->buf + reader_->pos, reader_->len - reader_->pos);
    const bool in_string = reader_->ridx >= 0 && current_task(*reader_).type == REDIS_REPLY_STRING;
    std::uint64_t length = 0;
    return in_string &&
           std::from_chars(rest.data(), rest.data() + rest.size(), length).ec == std::errc{} &&
           length > limits_->bytes;
}

}  // namespace tollgate::redis
