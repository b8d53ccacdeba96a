// What nodes report is added to the windows, once.

#include "t/unit/redis/acquire_script.hpp"

namespace tollgate::redis {
namespace {

TEST_F(AcquireScript, AdjustsAMonth) {
    constexpr Period kMonth = Period::month();
    Acquire acquire = acquire_of({{100, kMonth}});
    set_clock(std::chrono::sys_days(2100y / 2 / 28) + 12h);
    decide(acquire);
    const auto month = window_number(*clock_, kMonth);
    acquire.adjustments = {{month, 6}};
    acquire.report_numbers = {5};
    EXPECT_EQ(decide(acquire).windows[0], (WindowCount{month, 8, 0}));
    EXPECT_EQ(expiry(report_key(acquire)), window_end(month, kMonth));
    acquire.adjustments = {{month - 1, 6}};
    acquire.report_numbers = {6};
    EXPECT_EQ(decide(acquire).windows[0].count, 9) << "of an ended month";
}

TEST_F(AcquireScript, AdjustsBeforeItDecides) {
    Acquire acquire = acquire_of({{10, kHour}, {100, kDay}});
    put(kHour, 0, 4);
    put(kDay, 0, 50);
    acquire.adjustments = {{number(kHour), 5}, {number(kDay), -20}};
    acquire.count = 3;
    auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 1);
    EXPECT_EQ(count(kHour), 10);
    EXPECT_EQ(count(kDay), 31);
    acquire.adjustments = {{number(kHour) - 1, -5}, {number(kDay), -99}};  // of an ended window
    acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 0);
    EXPECT_EQ(count(kHour), 10);
    EXPECT_EQ(count(kDay), 0);
}

TEST_F(AcquireScript, AdjustsWithNoRequest) {
    Acquire acquire = acquire_of({{10, kHour}});
    acquire.count = 0;
    acquire.adjustments = {{number(kHour), 25}};
    const auto acquired = decide(acquire);
    EXPECT_EQ(acquired.granted, 0);
    EXPECT_EQ(acquired.windows[0], (WindowCount{number(kHour), 25, 0}));
    EXPECT_EQ(count(kHour), 25);
    EXPECT_GT(redis_->integer({"PTTL", keys_.quota("k", "api")}), 0);
    acquire.adjustments = {{number(kHour) + 3, 25}};
    const auto before = dirty();
    EXPECT_EQ(decide(acquire).windows[0].count, 25);
    EXPECT_EQ(dirty(), before);
}

TEST_F(AcquireScript, AdjustsTheWindowBeforeWhereItSlides) {
    put(kDay, 0, 4, 6);
    Acquire acquire = acquire_of({{1000, kDay}}, true);
    acquire.adjustments = {{number(kDay) - 1, 7}};
    EXPECT_EQ(decide(acquire).windows[0], (WindowCount{number(kDay), 5, 13}));
    EXPECT_EQ(field("8640000.previous"), "13");
    acquire.adjustments = {{number(kDay) - 1, -70}};
    EXPECT_EQ(decide(acquire).windows[0], (WindowCount{number(kDay), 6, 0}));
    EXPECT_EQ(field("8640000.previous"), "0");
}

TEST_F(AcquireScript, AdjustsBothWindowsOfAReportWhereItSlides) {
    put(kDay, 0, 4, 6);
    Acquire acquire = acquire_of({{1000, kDay}}, true);
    acquire.adjustments = {{number(kDay), 7, 8}};
    EXPECT_EQ(decide(acquire).windows[0], (WindowCount{number(kDay), 12, 14}));
    EXPECT_EQ(field("8640000.previous"), "14");
}

TEST_F(AcquireScript, AppliesAReportOnce) {
    Acquire acquire = acquire_of(
        Quotas{table("api", {{100, kHour}, {100, kDay}}), table("search", {{100, kHour}})});
    acquire.count = 0;
    acquire.adjustments = {{number(kHour), 5}, {number(kDay), 5}, {number(kHour), 2}};
    acquire.report_numbers = {7, 0};
    decide(acquire);
    EXPECT_EQ(decide(acquire).windows[0].count, 5);
    EXPECT_EQ(count(kDay), 5);
    EXPECT_EQ(count(kHour, "search"), 4) << "that one has no number";
    acquire.report_numbers = {6, 0};
    EXPECT_EQ(decide(acquire).windows[0].count, 5) << "an older one";
    context_.node = "n2";
    EXPECT_EQ(decide(acquire).windows[0].count, 10) << "of another node";
    context_.node = "n1";
    acquire.report_numbers = {8, 9};
    EXPECT_EQ(decide(acquire).windows[0].count, 15);
    EXPECT_EQ(decide(acquire).windows[2].count, 10);
    EXPECT_EQ(redis_->text({"HGET", report_key(acquire), "number"}), "8");
    EXPECT_LE(std::chrono::abs(expiry(report_key(acquire)) - window_end(number(kDay), kDay)), 1s);
}

TEST_F(AcquireScript, AReportThatChangesNothingIsNotWritten) {
    Acquire acquire = acquire_of({{100, kHour}});
    decide(acquire);
    acquire.count = 0;
    acquire.adjustments = {{number(kHour) - 2, 5}};
    acquire.report_numbers = {7};
    const auto before = dirty();
    decide(acquire);
    EXPECT_EQ(dirty(), before);
}

}  // namespace
}  // namespace tollgate::redis
