#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "module/management/admin/admin_api.hpp"
#include "module/management/key_reader.hpp"
#include "module/management/operations.hpp"
#include "t/unit/management/issue.hpp"
#include "t/unit/management/memory_database.hpp"
#include "t/unit/management/test_rights.hpp"

namespace tollgate::management {
namespace {

/// A rotation of tollgate_admin to a key that the program has made. The parameter is its overlap.
class GivenRotationTest : public testing::TestWithParam<std::string> {
  protected:
    GivenRotationTest() {
        issue(database_, "acme", "of acme");
        issue(database_, "other", of_other_);
    }

    AdminResponse rotate(const std::string& digest,
                         std::optional<std::string> if_match = std::nullopt) {
        AdminRequest request{
            .method = "POST",
            .path = ResourcePath::of_decoded("keys/acme/rotate"),
            .body = R"({"overlap":")" + GetParam() + R"(","digest":")" + digest + R"("})",
            .if_match = std::move(if_match),
            .actor = "key:portal"};
        return run_to_end(handle(database_, keys_, {}, rights_, std::move(request)));
    }

    KeysOfId stored() {
        KeyReader reader(database_, keys_);
        return run_to_end(reader.all_keys("acme"));
    }

    /// Whether a gateway accepts the key.
    bool works(const std::string& digest) {
        const auto keys = stored().keys;
        const auto found = std::ranges::find(keys, digest, &StoredKey::digest);
        return found != keys.end() && !found->pending && !found->replaced;
    }

    /// Expects that the given key is the current one, and what has become of the old one.
    void expect_rotated() {
        EXPECT_EQ(stored().keys.front().digest, given_);
        EXPECT_TRUE(stored().keys.front().is_current());
        EXPECT_EQ(works("of acme"), has_overlap());
        EXPECT_EQ(stored().keys.size(), has_overlap() ? 2U : 1U);
        EXPECT_EQ(stored().keys.back().record.retiring, has_overlap());
    }

    void expect_refused(const std::string& digest, const std::string& code) {
        const auto before = database_.data;
        for (const auto& if_match : {std::optional<std::string>(), std::optional(etag())}) {
            const auto response = rotate(digest, if_match);
            EXPECT_EQ(response.status, 409);
            EXPECT_NE(response.body.find("\"" + code + "\""), std::string::npos) << response.body;
            EXPECT_EQ(database_.data, before);
        }
    }

    bool has_overlap() const { return GetParam() != "0"; }
    std::string etag() { return "\"" + *version_of(stored()) + "\""; }

    TestRights rights_;
    MemoryDatabase database_;
    redis::Keys keys_ = MemoryDatabase::keys();
    const std::string given_ = std::string(64, 'a');
    const std::string of_other_ = std::string(64, 'b');
};

TEST_P(GivenRotationTest, IsTheSameWhenItIsRepeated) {
    const auto first = rotate(given_);
    EXPECT_EQ(first.status, 200) << first.body;
    EXPECT_EQ(first.body.find(R"("key":)"), std::string::npos) << first.body;
    expect_rotated();
    const auto before = database_.data;
    const auto again = rotate(given_);
    EXPECT_EQ(again.status, 200) << again.body;
    EXPECT_EQ(again.body, first.body);
    EXPECT_EQ(database_.data, before);
}

TEST_P(GivenRotationTest, IsCompletedIfItIsInterrupted) {
    const auto before = database_.data;
    for (const auto& if_match : {std::optional<std::string>(), std::optional(etag())}) {
        for (const bool loses_reply : {false, true}) {
            int interruptions = 0;
            for (bool is_interrupted = true; is_interrupted; ++interruptions) {
                database_.data = before;
                database_.calls_left = interruptions;
                database_.loses_reply = loses_reply;
                is_interrupted = rotate(given_, if_match).status == 503;
                database_.calls_left.reset();
                const auto again = rotate(given_, if_match);
                EXPECT_EQ(again.status, 200) << again.body << interruptions;
                expect_rotated();
            }
            EXPECT_GT(interruptions, 20);
        }
    }
}

TEST_P(GivenRotationTest, CopiesWhatHasChangedSinceItWasInterrupted) {
    const auto before = database_.data;
    int interruptions = 0;
    for (bool is_interrupted = true; is_interrupted; ++interruptions) {
        database_.data = before;
        database_.calls_left = interruptions;
        is_interrupted = rotate(given_).status == 503;
        database_.calls_left.reset();
        KeyOperation operation(database_, keys_, {.actor = "a", .action = "set", .id = "acme"});
        run_to_end(operation.update("acme", [](KeyRecord& record) { record.name = "changed"; }));
        EXPECT_EQ(rotate(given_).status, 200) << interruptions;
        expect_rotated();
        for (const auto& key : stored().keys) {
            EXPECT_EQ(key.record.name, "changed") << interruptions;
        }
    }
}

TEST_P(GivenRotationTest, IsExecutedAgainAfterAFailover) {
    for (const bool is_undone : {false, true}) {
        MemoryDatabase::Data before = database_.data;
        database_.acknowledged = [&, is_first = true]() mutable {
            if (!std::exchange(is_first, false)) {
                return Durability::kConfirmed;
            }
            if (is_undone) {
                database_.data = before;
            }
            return Durability::kUndone;
        };
        const auto response = rotate(given_);
        EXPECT_EQ(response.status, 200) << response.body;
        expect_rotated();
        database_.data = before;
    }
}

TEST_P(GivenRotationTest, EndsAKeyThatAFailoverHasMadeValidAgain) {
    const auto hash = database_.data.hashes["t:key:of acme"];
    rotate(given_);
    database_.data.hashes["t:key:of acme"] = hash;
    database_.data.hashes["t:key:of acme"]["created"] = "900";
    database_.data.sets["t:id:{acme}"].insert("of acme");
    database_.data.expiring.erase("t:key:of acme");
    EXPECT_EQ(rotate(given_).status, 200);
    expect_rotated();
}

TEST_P(GivenRotationTest, RefusesAKeyThatIsAnotherOne) {
    database_.data.hashes["t:key:" + std::string(64, 'c')]["revoked"] = "someone";
    expect_refused(std::string(64, 'c'), "revoked_key");
    expect_refused(of_other_, "key_exists");
    rotate(given_);
    const std::string next(64, 'd');
    if (has_overlap()) {
        // An older key of the id, and a first key.
        database_.data.hashes["t:key:" + next] = database_.data.hashes["t:key:of acme"];
        database_.data.sets["t:id:{acme}"].insert(next);
        database_.data.expiring.insert("t:key:" + next);
        expect_refused(next, "key_exists");
        expect_refused(std::string(64, 'e'), "two_keys");
    } else {
        EXPECT_EQ(rotate(next).status, 200);
        expect_refused(given_, "revoked_key");
        database_.data.hashes["t:key:" + next].erase("issued");
        expect_refused(next, "key_exists");
    }
}

TEST_P(GivenRotationTest, EndsNothingIfAnotherIdGetsTheDigestMeanwhile) {
    const auto before = database_.data;
    int refused = 0;
    for (int calls = 0; calls < 80; ++calls) {
        database_.data = before;
        bool is_issued = false;
        bool is_reserved = false;
        database_.calls_before = calls;
        database_.before_call = [&] {
            // The other operation takes a digest that is reserved for more than half a second.
            is_reserved = database_.data.hashes.contains("t:key:" + given_);
            try {
                issue(database_, "third", given_);
                is_issued = true;
            } catch (const OperationError&) {
            }
        };
        const auto response = rotate(given_);
        EXPECT_EQ(response.status, is_issued ? 409 : 200) << calls;
        if (is_issued && !is_reserved) {
            ++refused;
            EXPECT_EQ(stored().keys.size(), 1U) << calls;
            EXPECT_TRUE(stored().keys.front().is_current()) << calls;
        }
        database_.before_call = nullptr;
    }
    EXPECT_GT(refused, 5);
}

INSTANTIATE_TEST_SUITE_P(Overlaps, GivenRotationTest, testing::Values("0", "1h"));

}  // namespace
}  // namespace tollgate::management
