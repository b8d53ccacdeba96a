#include "module/management/admin/json_body.hpp"

#include <gtest/gtest.h>

#include "module/management/operation_error.hpp"

namespace tollgate::management {
namespace {

std::string refusal_of_body(std::string_view text) {
    try {
        const JsonBody body(text);
        return "";
    } catch (const OperationError& error) {
        return error.what();
    }
}

TEST(JsonBodyTest, HasTextsListsAndObjects) {
    JsonBody body(
        R"({"a":"x","b":null,"c":["y","z"],"d":{"n":1,"f":0.5,"t":"v","o":null,"b":true}})");
    EXPECT_EQ(body.take_text("a"), "x");
    EXPECT_EQ(body.take_text_or_null("b"), "");
    EXPECT_EQ(body.take_texts("c"), (JsonBody::Texts{"y", "z"}));
    EXPECT_FALSE(body.take_null("d"));
    const auto object = body.take_object("d");
    const JsonBody::Object expected{{"n", std::int64_t{1}},
                                    {"f", 0.5},
                                    {"t", std::string("v")},
                                    {"o", JsonBody::Null{}},
                                    {"b", true}};
    EXPECT_EQ(object, expected);
    EXPECT_EQ(body.take_text("a"), std::nullopt);
    EXPECT_NO_THROW(body.require_empty());
}

TEST(JsonBodyTest, HasListsOfObjectsAndFlags) {
    JsonBody body(R"({"list":[{"a":"x","f":true},{}],"none":[],"f":false,"n":1,"texts":["x"]})");
    const auto objects = body.take_objects("list");
    ASSERT_EQ(objects.size(), 2U);
    JsonBody first(objects.front());
    EXPECT_EQ(first.take_text("a"), "x");
    EXPECT_EQ(first.take_flag("f"), true);
    EXPECT_EQ(first.take_flag("f"), std::nullopt);
    EXPECT_NO_THROW(first.require_empty());
    EXPECT_TRUE(body.take_objects("none").empty());
    EXPECT_TRUE(body.take_objects("missing").empty());
    EXPECT_EQ(body.take_flag("f"), false);
    EXPECT_THROW(body.take_flag("n"), OperationError);
    EXPECT_THROW(body.take_objects("texts"), OperationError);
}

TEST(JsonBodyTest, OfNoBytesHasNoMembers) {
    JsonBody body("");
    EXPECT_EQ(body.take_text("a"), std::nullopt);
    EXPECT_NO_THROW(body.require_empty());
}

TEST(JsonBodyTest, RefusesOtherTexts) {
    EXPECT_EQ(refusal_of_body("{"), "the body is not valid JSON, at byte 2");
    EXPECT_EQ(refusal_of_body("{} x"), "the body is not valid JSON, at byte 4");
    EXPECT_EQ(refusal_of_body("[]"), "the body is not a JSON object");
    EXPECT_EQ(refusal_of_body("7"), "the body is not a JSON object");
    EXPECT_EQ(refusal_of_body(R"({"a":1,"a":2})"), "\"a\" is given twice");
    EXPECT_EQ(refusal_of_body(R"({"a":{"b":1,"b":2}})"), "\"b\" is given twice");
    EXPECT_EQ(refusal_of_body(R"({"a":{"b":{}}})"), "\"a\" is nested too deep");
    EXPECT_EQ(refusal_of_body(R"({"a":[["b"]]})"), "\"a\" is nested too deep");
    EXPECT_EQ(refusal_of_body(R"({"a":[1]})"), "\"a\" has an element that is not a text");
    EXPECT_EQ(refusal_of_body(R"({"a":["x",{}]})"), "\"a\" is nested too deep");
    EXPECT_EQ(refusal_of_body(R"({"a":[{},"x"]})"), "\"a\" has an element that is not an object");
    EXPECT_EQ(refusal_of_body(R"({"a":[{},7]})"), "\"a\" has an element that is not an object");
    EXPECT_EQ(refusal_of_body(R"({"a":[{"b":{}}]})"), "\"a\" is nested too deep");
    EXPECT_EQ(refusal_of_body(R"({"a":[{"b":[]}]})"), "\"a\" is nested too deep");
    EXPECT_EQ(refusal_of_body(R"({"a":[{"b":1,"b":2}]})"), "\"b\" is given twice");
    EXPECT_NE(refusal_of_body("{\"a\":\"\xff\"}"), "");
}

TEST(JsonBodyTest, RefusesMembersOfAnotherType) {
    JsonBody body(R"({"number":1,"empty":"","text":"x","list":[]})");
    EXPECT_THROW(body.take_text("number"), OperationError);
    EXPECT_THROW(body.take_text("empty"), OperationError);
    EXPECT_THROW(body.take_texts("text"), OperationError);
    EXPECT_THROW(body.take_object("list"), OperationError);
}

TEST(JsonBodyTest, TakesNullOnce) {
    JsonBody body(R"({"a":null,"b":""})");
    EXPECT_TRUE(body.take_null("a"));
    EXPECT_FALSE(body.take_null("a"));
    EXPECT_FALSE(body.take_null("b"));
    EXPECT_FALSE(body.take_null("c"));
    EXPECT_THROW(body.require_empty(), OperationError);
}

TEST(JsonBodyTest, RefusesIntegersThatItWouldRound) {
    EXPECT_EQ(refusal_of_body(R"({"a":9223372036854775807})"), "");
    EXPECT_EQ(refusal_of_body(R"({"a":1e30})"), "") << "it is written as a number that is rounded";
    for (const auto* const number :
         {"9223372036854775808", "18446744073709551616", "-9223372036854775809"}) {
        EXPECT_EQ(refusal_of_body("{\"m\":{\"a\":" + std::string(number) + "}}"),
                  "\"m\" has an integer of more than 64 bits");
    }
}

TEST(JsonBodyTest, RefusesMembersThatAreLeft) {
    const JsonBody body(R"({"colour":"red"})");
    EXPECT_THROW(body.require_empty(), OperationError);
}

}  // namespace
}  // namespace tollgate::management
