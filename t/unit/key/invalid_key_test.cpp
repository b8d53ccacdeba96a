#include "module/key/invalid_key.hpp"

#include <gtest/gtest.h>

namespace tollgate {

namespace {

TEST(InvalidKey, SaysWhyARecordIsNotValid) {
    using std::chrono::sys_seconds;
    const sys_seconds now(std::chrono::seconds(1000));
    const auto fault = [&](bool active, std::optional<sys_seconds> expires) {
        KeyRecord record{.id = "acme", .name = {}, .plan = "free", .limits = {}, .expires = {}};
        record.active = active;
        record.expires = expires;
        const InvalidKey invalid = invalid_key(record, now);
        EXPECT_EQ(invalid.id, invalid.fault == KeyFault::kNone ? "" : "acme");
        return name_of(invalid.fault);
    };
    EXPECT_EQ(fault(true, {}), "");
    EXPECT_EQ(fault(true, now + std::chrono::seconds(1)), "");
    EXPECT_EQ(fault(true, now), "expired");
    EXPECT_EQ(fault(false, {}), "disabled");
    EXPECT_EQ(fault(false, now), "disabled");
    KeyRecord revoked{.id = "acme", .name = {}, .plan = {}, .limits = {}, .expires = {}};
    revoked.active = false;
    revoked.ended = KeyFault::kRevoked;
    EXPECT_EQ(name_of(invalid_key(revoked, now).fault), "revoked");
    EXPECT_EQ(invalid_key(revoked, now).id, "acme");
}

}  // namespace

}  // namespace tollgate
