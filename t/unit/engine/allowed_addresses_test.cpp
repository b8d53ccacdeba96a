// Keys that may be used from some addresses only, in every way in which a node decides.

#include "module/engine/admission.hpp"
#include "t/unit/engine/engine_fixture.hpp"

namespace tollgate::engine {
namespace {

class AllowedAddressesTest : public EngineTest {
  protected:
    AllowedAddressesTest() {
        add_key("k");
        redis.records.at(settings.keys.key(hex(sha256("k")))).from = "192.0.2.0/24";
    }

    /// The request from this address, after it was decided.
    Request& ask_from(Worker& worker, std::vector<unsigned char> address,
                      const RequestOptions& options = {}) {
        auto& request = requests.emplace_back(std::make_unique<Request>(worker, options));
        request->client = std::move(address);
        request->admission.start("k");
        run_for(20ms);
        return *request;
    }
    void expect_forbidden(Worker& worker, std::vector<unsigned char> address,
                          const RequestOptions& options = {}) {
        const Outcome& outcome = ask_from(worker, std::move(address), options).outcome();
        EXPECT_EQ(outcome.verdict, Verdict::kForbidden);
        EXPECT_EQ(outcome.status, 403);
        EXPECT_EQ(outcome.error.code, "address_not_allowed");
        EXPECT_TRUE(outcome.windows.empty());
    }

    const std::vector<unsigned char> inside_{192, 0, 2, 7};
    const std::vector<unsigned char> outside_{192, 0, 3, 7};
};

TEST_F(AllowedAddressesTest, OtherAddressesAreForbiddenAndCountedNowhere) {
    Worker& worker = start();
    for (int i = 0; i < 3; ++i) {
        expect_forbidden(worker, outside_);
    }
    expect_forbidden(worker, {});
    EXPECT_EQ(counted("k"), 0);
    EXPECT_EQ(worker.transport.calls, 1) << "the look-up";
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(ask_from(worker, inside_).status(), 0);
        expect_forbidden(worker, outside_);  // also if the worker knows the key
    }
}

TEST_F(AllowedAddressesTest, TheKeyAloneIsChecked) {
    Worker& worker = start();
    expect_forbidden(worker, outside_, {.checks_key_only = true});
    EXPECT_EQ(ask_from(worker, inside_, {.checks_key_only = true}).status(), 0);
}

TEST_F(AllowedAddressesTest, AnOutageChangesNothing) {
    Worker& worker = start();
    EXPECT_EQ(ask_from(worker, inside_).status(), 0);
    worker.transport.reachable = false;
    expect_forbidden(worker, outside_);
    EXPECT_EQ(ask_from(worker, inside_).status(), 0);
    run_for(5s);  // The record is not fresh any more.
    expect_forbidden(worker, outside_);
    EXPECT_EQ(ask_from(worker, inside_).status(), 0);
}

}  // namespace
}  // namespace tollgate::engine
