#include "backend/core/pet_request.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "backend/core/error.hpp"

namespace petstore {
namespace {

std::string query_error(std::string_view query) {
    try {
        parse_pet_query(query);
        return "accepted";
    } catch (const RequestError& error) {
        return error.what();
    }
}

TEST(FindRoute, FindsTheResources) {
    EXPECT_EQ(find_route("/pets")->resource, Resource::kPets);
    EXPECT_EQ(find_route("/store/orders")->resource, Resource::kOrders);
    EXPECT_EQ(find_route("/pets/7")->resource, Resource::kPet);
    EXPECT_EQ(find_route("/pets/7")->pet_id, 7);
    EXPECT_EQ(find_route("/pets/-9223372036854775808")->pet_id,
              std::numeric_limits<std::int64_t>::min());
}

TEST(FindRoute, AcceptsIdsThatNoPetCanHave) {
    for (const char* path : {"/pets/x", "/pets/7x", "/pets/9223372036854775808", "/pets/ "}) {
        ASSERT_TRUE(find_route(path)) << path;
        EXPECT_EQ(find_route(path)->resource, Resource::kPet) << path;
        EXPECT_FALSE(find_route(path)->pet_id) << path;
    }
}

TEST(FindRoute, RejectsOtherPaths) {
    for (const char* path : {"", "/", "pets", "/pets/", "/petsx", "/pets/7/", "/pets//", "/Pets",
                             "/store", "/store/orders/", "/store/orders/1"}) {
        EXPECT_FALSE(find_route(path)) << path;
    }
}

TEST(IsJson, ComparesTheMediaType) {
    for (const char* type :
         {"application/json", "Application/JSON", "application/json;charset=utf-8",
          "application/json ; charset=\"utf-8\""}) {
        EXPECT_TRUE(is_json(type)) << type;
    }
    for (const char* type :
         {"", "text/json", "application/jsonp", "application/json+x", "application/jso",
          "application/x-www-form-urlencoded", "; application/json"}) {
        EXPECT_FALSE(is_json(type)) << type;
    }
}

TEST(ParsePetQuery, HasDefaults) {
    for (const char* query : {"", "&&", "x=y", "Limit=5", "=5"}) {
        const PetQuery parsed = parse_pet_query(query);
        EXPECT_EQ(parsed.limit, 20) << query;
        EXPECT_EQ(parsed.status, std::nullopt) << query;
        EXPECT_EQ(parsed.after, std::numeric_limits<std::int64_t>::min()) << query;
    }
}

TEST(ParsePetQuery, ReadsParameters) {
    const PetQuery parsed = parse_pet_query("limit=100&status=sold&after=9223372036854775807");
    EXPECT_EQ(parsed.limit, 100);
    EXPECT_EQ(parsed.status, PetStatus::kSold);
    EXPECT_EQ(parsed.after, std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(parse_pet_query("after=-1&limit=1").after, -1);
}

TEST(ParsePetQuery, DecodesEscapes) {
    EXPECT_EQ(parse_pet_query("l%69mit=%31%30").limit, 10);
    EXPECT_EQ(parse_pet_query("status=%73old").status, PetStatus::kSold);
    for (const char* query : {"limit=%", "limit=%3", "limit=%zz", "limit=1%00", "limit=+1",
                              "limit=1+", "limit=%+1", "limit=%-1"}) {
        EXPECT_EQ(query_error(query), "\"limit\" must be an integer from 1 to 100.") << query;
    }
}

TEST(ParsePetQuery, RejectsInvalidValues) {
    for (const char* limit :
         {"", "0", "101", "-1", "1.0", "1e1", " 1", "ten", "99999999999999999999"}) {
        EXPECT_EQ(query_error(std::string{"limit="} + limit),
                  "\"limit\" must be an integer from 1 to 100.");
    }
    EXPECT_EQ(query_error("limit"), "\"limit\" must be an integer from 1 to 100.");
    for (const char* status : {"", "Sold", "sold%20", "available,sold"}) {
        EXPECT_EQ(query_error(std::string{"status="} + status),
                  "\"status\" must be one of \"available\", \"pending\" and \"sold\".");
    }
    for (const char* after : {"", "x", "9223372036854775808", "1.0"}) {
        EXPECT_EQ(query_error(std::string{"after="} + after),
                  "\"after\" must be the id of a pet, an integer.");
    }
}

TEST(ParsePetQuery, RejectsRepeatedParameters) {
    EXPECT_EQ(query_error("limit=5&limit=5"), "\"limit\" is given more than once.");
    EXPECT_EQ(query_error("status=sold&status=pending"), "\"status\" is given more than once.");
    EXPECT_EQ(query_error("after=1&x&%61fter=1"), "\"after\" is given more than once.");
}

}  // namespace
}  // namespace petstore
