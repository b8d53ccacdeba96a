// The script of a look-up.

#include <regex>

#include "module/redis/protocol/lookup.hpp"
#include "module/redis/protocol/node_script.hpp"
#include "module/redis/protocol/record_fields.hpp"
#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

TEST(Scripts, HaveAValueForEachName) {
    const std::regex name(R"(\$|\bk[A-Z]|\binsert\(')");
    for (const Script* script : {&acquire_script(), &lookup_script()}) {
        std::smatch found;
        EXPECT_FALSE(std::regex_search(script->text, found, name)) << found.str();
    }
}

TEST_F(AcquireScript, TheLookUpOfAMissingKeyNeedsAMaster) {
    const auto lookup = [&](const std::string& key) {
        return redis_->run({"EVAL", lookup_script().text, "1", key, "token"});
    };
    redis_->run({"HSET", "t:key:x", "id", "k1", "plan", "free", "state", "active"});
    redis_->run({"REPLICAOF", "127.0.0.1", "1"});
    const auto found = lookup("t:key:x");
    const auto missing = lookup("t:key:y");
    redis_->run({"REPLICAOF", "NO", "ONE"});
    EXPECT_EQ(elements_of(*found).size(), record_fields().size() + 3);
    ASSERT_EQ(missing->type, REDIS_REPLY_ERROR);
    EXPECT_TRUE(text_of(*missing).starts_with("READONLY"));
}

TEST_F(AcquireScript, ALookUpChangesNoExpiry) {
    redis_->run({"HSET", "t:key:x", "plan", "free"});
    redis_->run({"EVAL", lookup_script().text, "1", "t:key:x", "token"});
    EXPECT_EQ(redis_->integer({"PTTL", "t:key:x"}), -1);
}

TEST_F(AcquireScript, TheLookUpFetchesARecord) {
    const auto lookup = [&] {
        return redis_->run({"EVAL", lookup_script().text, "1", "t:key:x", "token"});
    };
    redis_->run({"HSET", "t:key:x", "id", "k1", "plan", "free", "state", "active"});
    auto reply = lookup();
    auto elements = elements_of(*reply);
    ASSERT_EQ(elements.size(), record_fields().size() + 3) << "the token and the lifetime";
    EXPECT_EQ(text_of(*elements[0]), "token");
    const auto found = read_lookup(elements.subspan(1));
    EXPECT_EQ(found.outcome, Lookup::Outcome::kFound);
    EXPECT_EQ(found.record.id, "k1");
    redis_->run({"DEL", "t:key:x"});
    reply = lookup();
    EXPECT_EQ(read_lookup(elements_of(*reply).subspan(1)).outcome, Lookup::Outcome::kUnknown);
    redis_->run({"SET", "t:key:x", "text"});
    reply = lookup();
    EXPECT_EQ(read_lookup(elements_of(*reply).subspan(1)).outcome, Lookup::Outcome::kMalformed);
    redis_->run({"DEL", "t:key:x"});
    redis_->run({"HSET", "t:key:x", "revoked", "k1"});
    reply = lookup();
    EXPECT_EQ(read_lookup(elements_of(*reply).subspan(1)).outcome, Lookup::Outcome::kRevoked);
}

}  // namespace
}  // namespace tollgate::redis
