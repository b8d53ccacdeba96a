#include "module/redis/protocol/reply.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tollgate::redis {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

/// A reply as one text, to compare.
std::string shown(const redisReply& reply) {
    switch (reply.type) {
        case REDIS_REPLY_INTEGER:
            return ":" + std::to_string(reply.integer);
        case REDIS_REPLY_NIL:
            return "nil";
        case REDIS_REPLY_ARRAY: {
            std::string text = "[";
            for (const redisReply* element : elements_of(reply)) {
                text += shown(*element) + " ";
            }
            return text + "]";
        }
        case REDIS_REPLY_ERROR:
            return "-" + std::string(text_of(reply));
        default:
            return std::string(text_of(reply));
    }
}

std::vector<std::string> all_of(ReplyReader& reader) {
    std::vector<std::string> texts;
    while (const ReplyPtr reply = reader.next()) {
        texts.push_back(shown(*reply));
    }
    return texts;
}

TEST(ReplyReader, ReadsTheSameAtEverySplit) {
    const std::string stream =
        "+OK\r\n:42\r\n$5\r\na\r\nbc\r\n$-1\r\n*3\r\n:1\r\n$0\r\n\r\n*1\r\n$-1\r\n"
        "-ERR no\r\n*0\r\n$3\r\nend\r\n";
    const std::vector<std::string> replies{"OK",      ":42", "a\r\nbc", "nil", "[:1  [nil ] ]",
                                           "-ERR no", "[]",  "end"};
    for (std::size_t split = 0; split <= stream.size(); ++split) {
        ReplyReader reader;
        std::vector<std::string> got;
        for (const auto& part : {stream.substr(0, split), stream.substr(split)}) {
            ASSERT_TRUE(reader.feed(part)) << split;
            const auto more = all_of(reader);
            got.insert(got.end(), more.begin(), more.end());
        }
        EXPECT_EQ(got, replies) << split;
        EXPECT_FALSE(reader.broken()) << split;
    }
}

TEST(ReplyReader, ReadsByteByByte) {
    ReplyReader reader;
    std::vector<std::string> got;
    for (const char c : std::string("*2\r\n$1\r\na\r\n:7\r\n+x\r\n")) {
        ASSERT_TRUE(reader.feed({&c, 1}));
        const auto more = all_of(reader);
        got.insert(got.end(), more.begin(), more.end());
    }
    EXPECT_EQ(got, (std::vector<std::string>{"[a :7 ]", "x"}));
}

TEST(ReplyReader, FailsOnRepliesThatRedisNeverSends) {
    for (const std::string_view stream : {
             "hello\r\n",
             "\r\n",
             "HTTP/1.1 400 Bad Request\r\n",
             "*2000\r\n",
             "*2147483647\r\n",
             "*9223372036854775807\r\n",
             "$9223372036854775807\r\n",
             "$99999999999999999999\r\n",
             "$1000000\r\n",
             "$-2\r\n",
             "*-2\r\n",
             "$x\r\n",
             ":x\r\n",
             ":99999999999999999999\r\n",
         }) {
        ReplyReader reader;
        reader.feed(stream);
        EXPECT_EQ(reader.next(), nullptr) << stream;
        EXPECT_TRUE(reader.broken()) << stream;
        EXPECT_FALSE(reader.feed("+OK\r\n")) << stream;
        EXPECT_EQ(reader.next(), nullptr) << stream;
    }
}

TEST(ReplyReader, FailsOnAReplyThatNeverEnds) {
    for (const std::string_view start : {"+", "-ERR ", "$", "*2\r\n:1\r\n+"}) {
        ReplyReader reader;
        reader.feed(start);
        for (int i = 0; i < 2000 && !reader.broken(); ++i) {
            reader.feed(std::string(100, 'x'));
            EXPECT_EQ(reader.next(), nullptr);
        }
        EXPECT_TRUE(reader.broken()) << start;
    }
}

TEST(ReplyReader, WaitsForTheRestOfAnOrdinaryReply) {
    ReplyReader reader;
    reader.feed("$60000\r\n" + std::string(59'999, 'x'));
    EXPECT_EQ(reader.next(), nullptr);
    EXPECT_FALSE(reader.broken());
    reader.feed("x\r\n");
    const ReplyPtr reply = reader.next();
    ASSERT_NE(reply, nullptr);
    EXPECT_EQ(text_of(*reply).size(), 60'000);
}

TEST(ReplyReader, HasLimitsOfItsOwn) {
    ReplyReader small({.elements = 2, .bytes = 100});
    ReplyReader large({.elements = 5000, .bytes = 200'000});
    const std::string array = "*5000\r\n:1\r\n";
    large.feed(array);
    EXPECT_EQ(large.next(), nullptr);
    EXPECT_FALSE(large.broken());
    large.feed("*5001\r\n");
    EXPECT_EQ(large.next(), nullptr);
    EXPECT_TRUE(large.broken());

    small.feed("*2\r\n:1\r\n:2\r\n");
    EXPECT_NE(small.next(), nullptr);
    small.feed("*3\r\n");
    EXPECT_EQ(small.next(), nullptr);
    EXPECT_TRUE(small.broken());

    ReplyReader text({.elements = 1, .bytes = 200'000});
    text.feed("$200000\r\n" + std::string(150'000, 'x'));
    EXPECT_EQ(text.next(), nullptr);
    EXPECT_FALSE(text.broken());
    text.feed(std::string(50'001, 'x'));
    EXPECT_EQ(text.next(), nullptr);
    EXPECT_TRUE(text.broken());
}

TEST(ReplyReader, SurvivesGarbage) {
    std::minstd_rand random(1);
    const std::string_view alphabet = "*$:+-0123456789\r\nx";
    for (int round = 0; round < 2000; ++round) {
        ReplyReader reader;
        for (int i = 0; i < 20 && !reader.broken(); ++i) {
            std::string bytes;
            for (int j = 0; j < 5; ++j) {
                bytes += alphabet[random() % alphabet.size()];
            }
            reader.feed(bytes);
            all_of(reader);
        }
    }
}

}  // namespace
}  // namespace tollgate::redis
