#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "backend/core/error.hpp"
#include "backend/core/pet_request.hpp"
#include "backend/core/pet_response.hpp"

namespace petstore {
namespace {

using namespace std::string_literals;

std::string error_of(std::string_view body) {
    try {
        parse_new_pet(body);
        return "accepted";
    } catch (const RequestError& error) {
        return std::string{error.kind().code} + ": " + error.what();
    }
}

std::string code_of(std::string_view body) {
    const std::string error = error_of(body);
    return error.substr(0, error.find(':'));
}

std::string with_category(const std::string& number) {
    return R"({"name":"Rex","categoryId":)" + number + "}";
}

std::string with_name(const std::string& name) {
    return R"({"categoryId":1,"name":")" + name + "\"}";
}

TEST(ParseNewPet, AcceptsAPet) {
    const NewPet pet = parse_new_pet(R"( {"name":"Rex","categoryId":7,"status":"pending"} )");
    EXPECT_EQ(pet.name, "Rex");
    EXPECT_EQ(pet.category_id, 7);
    EXPECT_EQ(pet.status, PetStatus::kPending);
    EXPECT_EQ(parse_new_pet(with_category("1")).status, std::nullopt);
    EXPECT_EQ(parse_new_pet(with_name("")).name, "");
}

TEST(ParseNewPet, AcceptsIntegersInAnyNotation) {
    EXPECT_EQ(parse_new_pet(with_category("9223372036854775807")).category_id,
              std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(parse_new_pet(with_category("-9223372036854775808")).category_id,
              std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(parse_new_pet(with_category("9223372036854775807.0")).category_id,
              std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(parse_new_pet(with_category("1.0")).category_id, 1);
    EXPECT_EQ(parse_new_pet(with_category("-0")).category_id, 0);
    EXPECT_EQ(parse_new_pet(with_category("12E+2")).category_id, 1200);
}

TEST(ParseNewPet, RejectsOtherNumbers) {
    for (const char* number :
         {"9223372036854775808", "-9223372036854775809", "18446744073709551615",
          "18446744073709551616", "1.5", "1e400", "9223372036854775807.5"}) {
        EXPECT_EQ(error_of(with_category(number)),
                  "invalid_field: \"categoryId\" must be an integer from -9223372036854775808 to "
                  "9223372036854775807.")
            << number;
    }
    for (const char* number : {"01", "+1", ".5", "1.", "NaN", "Infinity", "0x1", "1e", "--1"}) {
        EXPECT_EQ(code_of(with_category(number)), "invalid_json") << number;
    }
}

TEST(ParseNewPet, NamesTheMissingField) {
    EXPECT_EQ(error_of("{}"), "missing_field: \"name\" is missing; it must be a string.");
    EXPECT_EQ(error_of(R"({"name":"Rex"})"),
              "missing_field: \"categoryId\" is missing; it must be an integer.");
    EXPECT_EQ(code_of(R"({"Name":"Rex","categoryId":1})"), "missing_field");
    EXPECT_EQ(code_of(R"({"a":{"name":"Rex","categoryId":1}})"), "missing_field");
}

TEST(ParseNewPet, NamesTheFieldOfTheWrongType) {
    for (const char* value : {"null", "true", "1", "1.5", "[]", "{}", "[\"Rex\"]", "1e400"}) {
        EXPECT_EQ(error_of(R"({"categoryId":1,"name":)"s + value + "}"),
                  "invalid_field: \"name\" must be a string.")
            << value;
    }
    for (const char* value : {"null", "true", "\"1\"", "[]", "{}", "[1]"}) {
        EXPECT_EQ(code_of(with_category(value)), "invalid_field") << value;
    }
    for (const char* value : {"null", "1", "\"\"", "\"SOLD\"", "\"sold \"", "[\"sold\"]", "{}"}) {
        EXPECT_EQ(
            error_of(R"({"name":"","categoryId":1,"status":)"s + value + "}"),
            "invalid_field: \"status\" must be one of \"available\", \"pending\" and \"sold\".")
            << value;
    }
}

TEST(ParseNewPet, RejectsDuplicateMembersOfNewPet) {
    EXPECT_EQ(error_of(R"({"name":"a","categoryId":1,"name":"a"})"),
              "duplicate_field: \"name\" is given more than once.");
    EXPECT_EQ(code_of(R"({"name":"a","categoryId":1,"categoryId":1})"), "duplicate_field");
    EXPECT_EQ(code_of(R"({"name":"a","categoryId":1,"status":"sold","status":"sold"})"),
              "duplicate_field");
    EXPECT_EQ(code_of(R"({"name":"a","categoryId":1,"na\u006de":"b"})"), "duplicate_field");
}

TEST(ParseNewPet, IgnoresOtherMembers) {
    EXPECT_EQ(code_of(R"({"id":9,"x":{"name":1,"y":[null,{"status":2}]},"name":"a",)"
                      R"("x":1.5,"categoryId":1})"),
              "accepted");
    EXPECT_EQ(code_of(R"({"name":"a","categoryId":1,"x":1e400})"), "invalid_json");
}

TEST(ParseNewPet, RejectsOtherValuesThanObjects) {
    for (const char* body : {"null", "1", "1.5", "\"a\"", "true", "[]", "[{}]", "1e400"}) {
        EXPECT_EQ(error_of(body), "invalid_json: The body must be a JSON object.") << body;
    }
}

TEST(ParseNewPet, RejectsInvalidJson) {
    for (const char* body : {"", " ", "{", "}", "{}{}", "{} x", "{'name':1}", "{\"name\"}", "{,}",
                             "// x\n{}", "{\"name\":\"a\",}", "\xef\xbb\xbf", "nul", "\"a"}) {
        EXPECT_EQ(code_of(body), "invalid_json") << body;
    }
    EXPECT_EQ(code_of(with_category("1") + "\0"s), "invalid_json");
    EXPECT_EQ(code_of(with_category("1") + "\0{}"s), "invalid_json");
    EXPECT_EQ(code_of("\0"s), "invalid_json");
    EXPECT_EQ(code_of(with_name("a\nb")), "invalid_json");
}

TEST(ParseNewPet, KeepsValidUtf8) {
    for (const std::string& name : {"\xc3\xa9"s, "\xe2\x82\xac"s, "\xf0\x9f\x90\x95"s,
                                    "\xf4\x8f\xbf\xbf"s, "\xef\xbf\xbf"s, "\x7f"s}) {
        EXPECT_EQ(parse_new_pet(with_name(name)).name, name);
    }
    EXPECT_EQ(parse_new_pet(with_name(R"(a\u0000b)")).name, "a\0b"s);
    EXPECT_EQ(parse_new_pet(with_name(R"(\ud83d\udc15)")).name, "\xf0\x9f\x90\x95");
    EXPECT_EQ(parse_new_pet(with_name(R"(\"\\\/\b\f\n\r\t)")).name, "\"\\/\b\f\n\r\t");
}

TEST(ParseNewPet, RejectsInvalidUtf8) {
    for (const std::string& name :
         {"\x80"s, "\xc3"s, "\xc0\xaf"s, "\xc1\xbf"s, "\xe0\x80\xaf"s, "\xf0\x80\x80\xaf"s,
          "\xed\xa0\x80"s, "\xed\xb0\x80"s, "\xf4\x90\x80\x80"s, "\xf8\x88\x80\x80\x80"s, "\xff"s,
          "\xfe"s, R"(\ud83d)"s, R"(\udc15)"s, R"(\ud83d\ud83d)"s, R"(\ud83dx)"s, R"(\u12)"s,
          R"(\x)"s}) {
        EXPECT_EQ(code_of(with_name(name)), "invalid_json") << name;
    }
    EXPECT_EQ(code_of("{\"\xff\":1}"), "invalid_json");
}

TEST(ParseNewPet, RejectsDeepNesting) {
    for (const char* bracket : {"[", "{\"x\":"}) {
        std::string deep;
        for (int i = 0; i < 100'000; ++i) {
            deep += bracket;
        }
        EXPECT_EQ(code_of(deep), "invalid_json");
        EXPECT_EQ(error_of(R"({"x":)" + deep),
                  "invalid_json: The body is nested deeper than 100 levels.");
    }
    const std::string open(kMaxJsonDepth - 1, '[');
    const std::string close(kMaxJsonDepth - 1, ']');
    EXPECT_EQ(code_of(R"({"name":"a","categoryId":1,"x":)" + open + close + "}"), "accepted");
}

TEST(PetCreated, EscapesTheName) {
    const std::string name = "a\0\"\\\n\x7f\xc3\xa9\xf0\x9f\x90\x95"s;
    const Pet pet{5, name, std::numeric_limits<std::int64_t>::min(), {}};
    const std::string json = pet_created(pet).body;
    EXPECT_EQ(json,
              "{\"id\":5,\"name\":\"a\\u0000\\\"\\\\\\n\x7f\xc3\xa9\xf0\x9f\x90\x95\","
              "\"categoryId\":-9223372036854775808}");
    EXPECT_EQ(parse_new_pet(json).name, pet.name);
}

TEST(PetCreated, ReplacesInvalidUtf8) {
    EXPECT_EQ(pet_created(Pet{2, "a\xff", 1, PetStatus::kSold}).body,
              "{\"id\":2,\"name\":\"a\xef\xbf\xbd\",\"categoryId\":1,\"status\":\"sold\"}");
}

}  // namespace
}  // namespace petstore
