#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::redis {

struct ReplyDeleter {
    void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};
using ReplyPtr = std::unique_ptr<redisReply, ReplyDeleter>;

/// A reply's text (of a string, a status or an error), a view into it; empty for other types.
std::string_view text_of(const redisReply& reply);

/// An array's elements; empty for other types.
std::span<const redisReply* const> elements_of(const redisReply& reply);

/// Reads replies off a stream with hiredis's parser. What a Redis would never answer Tollgate (an
/// array of thousands, a string of megabytes, garbage) is an error at once, before it is waited for
/// or allocated.
class ReplyReader {
  public:
    ReplyReader();

    /// Takes bytes from the stream. False when the stream is broken: close it.
    bool feed(std::string_view bytes);

    /// The next complete reply; nullptr when there is none yet, or when the stream is broken.
    ReplyPtr next();

    /// Whether the stream is broken, and why.
    bool broken() const { return !error_.empty(); }
    const std::string& error() const { return error_; }

  private:
    struct ReaderDeleter {
        void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
    };

    bool awaits_too_much() const;

    std::unique_ptr<redisReader, ReaderDeleter> reader_;
    std::size_t fed_ = 0;  ///< bytes since the last complete reply
    std::string error_;
};

}  // namespace tollgate::redis
