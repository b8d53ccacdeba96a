#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "module/key/digest.hpp"
#include "module/management/admin/admin_api.hpp"
#include "module/management/key_operation.hpp"
#include "module/management/key_reader.hpp"
#include "t/unit/management/issue.hpp"
#include "t/unit/management/memory_database.hpp"
#include "t/unit/management/test_rights.hpp"

namespace tollgate::management {
namespace {

/// A rotation of tollgate_admin whose response was lost. The time is 1000.
class RotationRecoveryTest : public testing::TestWithParam<std::string> {
  protected:
    RotationRecoveryTest() {
        for (const auto* id : {"portal", "acme"}) {
            issue(database_, id, std::string("of ") + id);
        }
        database_.data.hashes["t:used:{portal}"]["of portal"] = "960";
        lost_ = hex(sha256(new_key(rotate())));
    }

    AdminResponse rotate(const std::string& name = "lost") {
        AdminRequest request{.method = "POST",
                             .path = ResourcePath::of_decoded("keys/acme/rotate"),
                             .body = R"({"overlap":")" + GetParam() + R"("})",
                             .idempotency_key = name,
                             .actor = "key:portal"};
        return run_to_end(handle(database_, keys_, {}, rights_, std::move(request)));
    }

    /// The key in a response. Empty if it has none.
    static std::string new_key(const AdminResponse& response) {
        constexpr std::string_view kBefore = R"("key":")";
        const auto begin = response.body.find(kBefore);
        if (begin == std::string::npos) {
            return {};
        }
        const auto first = begin + kBefore.size();
        return response.body.substr(first, response.body.find('"', first) - first);
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

    bool has_overlap() const { return GetParam() != "0"; }

    TestRights rights_;
    MemoryDatabase database_;
    redis::Keys keys_ = MemoryDatabase::keys();
    std::string lost_;  ///< the digest of the key in the lost response
};

TEST_P(RotationRecoveryTest, ReplacesTheKeyThatWasNeverUsed) {
    const auto shown = hex(sha256(new_key(rotate())));
    EXPECT_TRUE(works(shown));
    EXPECT_FALSE(works(lost_));
    EXPECT_EQ(works("of acme"), has_overlap());
    EXPECT_EQ(stored().keys.front().digest, shown);
    EXPECT_TRUE(stored().keys.front().is_current());
}

TEST_P(RotationRecoveryTest, KeepsAKeyThatWasUsed) {
    database_.data.hashes["t:used:{acme}"][lost_] = "960";
    EXPECT_EQ(new_key(rotate()), "");
    EXPECT_TRUE(works(lost_));
}

TEST_P(RotationRecoveryTest, KeepsTheKeyIfUsesAreNotRecorded) {
    database_.data.hashes["t:used:{portal}"]["of portal"] = "900";
    EXPECT_EQ(new_key(rotate()), "");
    database_.data.hashes.erase("t:used:{portal}");
    EXPECT_EQ(new_key(rotate()), "");
    EXPECT_TRUE(works(lost_));
}

TEST_P(RotationRecoveryTest, KeepsTheKeyOfAnotherRequest) {
    if (!has_overlap()) {
        const auto other = hex(sha256(new_key(rotate("other"))));
        EXPECT_EQ(new_key(rotate()), "");
        EXPECT_TRUE(works(other));
    } else {
        EXPECT_EQ(rotate("other").status, 409);
        EXPECT_TRUE(works(lost_));
    }
}

TEST_P(RotationRecoveryTest, IsCompletedIfItIsInterrupted) {
    const auto before = database_.data;
    for (const bool loses_reply : {false, true}) {
        int interruptions = 0;
        for (bool is_interrupted = true; is_interrupted; ++interruptions) {
            database_.data = before;
            database_.calls_left = interruptions;
            database_.loses_reply = loses_reply;
            is_interrupted = rotate().status == 503;
            database_.calls_left.reset();
            EXPECT_EQ(works("of acme"), has_overlap()) << interruptions;
            const auto again = rotate();
            EXPECT_EQ(again.status, 200) << again.body << interruptions;
            EXPECT_TRUE(works(hex(sha256(new_key(again))))) << interruptions;
            EXPECT_FALSE(works(lost_)) << interruptions;
            EXPECT_EQ(works("of acme"), has_overlap()) << interruptions;
            EXPECT_EQ(stored().keys.size(), has_overlap() ? 2U : 1U) << interruptions;
        }
        EXPECT_GT(interruptions, 20);
    }
}

TEST_P(RotationRecoveryTest, IsExecutedAgainAfterAFailover) {
    for (const bool is_undone : {false, true}) {
        const auto before = database_.data;
        database_.acknowledged = [&, is_first = true]() mutable {
            if (!std::exchange(is_first, false)) {
                return Durability::kConfirmed;
            }
            if (is_undone) {
                database_.data = before;
            }
            return Durability::kUndone;
        };
        const auto response = rotate();
        EXPECT_EQ(response.status, 200) << response.body;
        EXPECT_TRUE(works(hex(sha256(new_key(response)))));
        EXPECT_FALSE(works(lost_));
        EXPECT_EQ(works("of acme"), has_overlap());
    }
}

INSTANTIATE_TEST_SUITE_P(Overlaps, RotationRecoveryTest, testing::Values("0", "1h"));

}  // namespace
}  // namespace tollgate::management
