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

/// The values that a script returned after the token. They belong to the reply.
using ReplyValues = std::span<const redisReply* const>;

/// The text of a string, a status or an error, as a view into the reply; empty for other types.
std::string_view text_of(const redisReply& reply);

/// The elements of an array; empty for other types.
std::span<const redisReply* const> elements_of(const redisReply& reply);

/// How large a reply may be. The default is for the scripts and other calls of Tollgate.
struct ReplyLimits {
    std::size_t elements = 1024;  ///< of one array
    std::size_t bytes = 65536;    ///< of a reply that has not come as a whole, and of a string
};

/// Reads replies from a stream with hiredis's parser. Replies that exceed the limits, and garbage,
/// are errors at once. The reader neither waits for them nor allocates memory for them.
class ReplyReader {
  public:
    explicit ReplyReader(ReplyLimits limits = {});

    /// Appends bytes of the stream. Returns false if the stream is invalid: close it.
    bool feed(std::string_view bytes);

    /// The next complete reply; nullptr if there is none yet, or if the stream is invalid.
    ReplyPtr next();

    /// Whether the stream is invalid, and the reason.
    bool broken() const { return !error_.empty(); }
    const std::string& error() const { return error_; }

  private:
    struct ReaderDeleter {
        void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
    };

    bool awaits_too_much() const;

    std::unique_ptr<const ReplyLimits> limits_;  ///< the address is stable: reader_ has it
    std::unique_ptr<redisReader, ReaderDeleter> reader_;
    std::size_t fed_ = 0;  ///< bytes since the last complete reply
    std::string error_;
};

}  // namespace tollgate::redis
