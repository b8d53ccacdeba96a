#include "backend/core/pet_query.hpp"

#include <gtest/gtest.h>

#include <string>

#include "backend/core/refusal.hpp"

namespace petstore {
namespace {

std::string refusal_of(std::string_view query) {
    try {
        parse_pet_query(query);
        return "accepted";
    } catch (const Refusal& refusal) {
        return refusal.what();
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
    EXPECT_EQ(parsed.status, PetStatus::sold);
    EXPECT_EQ(parsed.after, std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(parse_pet_query("after=-1&limit=1").after, -1);
}

TEST(ParsePetQuery, DecodesEscapes) {
    EXPECT_EQ(parse_pet_query("l%69mit=%31%30").limit, 10);
    EXPECT_EQ(parse_pet_query("status=%73old").status, PetStatus::sold);
    for (const char* query : {"limit=%", "limit=%3", "limit=%zz", "limit=1%00", "limit=+1",
                              "limit=1+", "limit=%+1", "limit=%-1"}) {
        EXPECT_EQ(refusal_of(query), "\"limit\" must be an integer from 1 to 100.") << query;
    }
}

TEST(ParsePetQuery, RefusesBadValues) {
    for (const char* limit :
         {"", "0", "101", "-1", "1.0", "1e1", " 1", "ten", "99999999999999999999"}) {
        EXPECT_EQ(refusal_of(std::string{"limit="} + limit),
                  "\"limit\" must be an integer from 1 to 100.");
    }
    EXPECT_EQ(refusal_of("limit"), "\"limit\" must be an integer from 1 to 100.");
    for (const char* status : {"", "Sold", "sold%20", "available,sold"}) {
        EXPECT_EQ(refusal_of(std::string{"status="} + status),
                  "\"status\" must be one of \"available\", \"pending\" and \"sold\".");
    }
    for (const char* after : {"", "x", "9223372036854775808", "1.0"}) {
        EXPECT_EQ(refusal_of(std::string{"after="} + after),
                  "\"after\" must be the id of a pet, an integer.");
    }
}

TEST(ParsePetQuery, RefusesRepeatedParameters) {
    EXPECT_EQ(refusal_of("limit=5&limit=5"), "\"limit\" is given more than once.");
    EXPECT_EQ(refusal_of("status=sold&status=pending"), "\"status\" is given more than once.");
    EXPECT_EQ(refusal_of("after=1&x&%61fter=1"), "\"after\" is given more than once.");
}

}  // namespace
}  // namespace petstore
