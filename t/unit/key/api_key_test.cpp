#include "module/key/api_key.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

namespace tollgate {
namespace {

using Random = std::array<unsigned char, kKeyEntropy>;

Random counting_up() {
    Random random{};
    std::iota(random.begin(), random.end(), static_cast<unsigned char>(0));
    return random;
}

// Computed independently in Python: int.from_bytes, divmod by 62, zlib.crc32.
TEST(MakeApiKey, MatchesAnIndependentImplementation) {
    EXPECT_EQ(make_api_key(Random{}), "tg_000000000000000000000000000000003hOmhk");
    EXPECT_EQ(make_api_key(counting_up()), "tg_flDIBkGwcRKRL9GXCgaFM3UNu2jQTClj3WwKTi");
    Random most{};
    most.fill(0xff);
    EXPECT_EQ(make_api_key(most), "tg_1pX8wOr5j2ACunjH7GLL8mWZWHmY1LA11tZlgd");
}

TEST(MakeApiKey, HasAValidChecksum) {
    EXPECT_TRUE(has_valid_checksum(make_api_key(counting_up())));
}

TEST(MakeApiKey, DiffersWithEveryByte) {
    for (std::size_t i = 0; i < kKeyEntropy; ++i) {
        auto random = counting_up();
        random[i] ^= 1U;
        EXPECT_NE(make_api_key(random), make_api_key(counting_up())) << i;
    }
}

TEST(HasValidChecksum, DetectsEveryMistypedCharacter) {
    const auto key = make_api_key(counting_up());
    for (std::size_t i = 3; i < key.size(); ++i) {
        auto mistyped = key;
        mistyped[i] = mistyped[i] == 'x' ? 'y' : 'x';
        EXPECT_FALSE(has_valid_checksum(mistyped)) << mistyped;
    }
}

TEST(HasValidChecksum, DetectsSwappedNeighbours) {
    const auto key = make_api_key(counting_up());
    for (std::size_t i = 3; i + 1 < key.size(); ++i) {
        if (key[i] != key[i + 1]) {
            auto swapped = key;
            std::swap(swapped[i], swapped[i + 1]);
            EXPECT_FALSE(has_valid_checksum(swapped)) << swapped;
        }
    }
}

TEST(HasValidChecksum, RefusesOtherLengthsAndCharacters) {
    const auto key = make_api_key(counting_up());
    EXPECT_FALSE(has_valid_checksum("tg_"));
    EXPECT_FALSE(has_valid_checksum(key.substr(0, key.size() - 1)));
    EXPECT_FALSE(has_valid_checksum(key + "0"));
    EXPECT_FALSE(has_valid_checksum(key + "="));
    auto foreign = key;
    foreign[5] = '~';
    EXPECT_FALSE(has_valid_checksum(foreign));
}

TEST(HasValidChecksum, LeavesImportedTokensAlone) {
    EXPECT_TRUE(has_valid_checksum(""));
    EXPECT_TRUE(has_valid_checksum("tg"));
    EXPECT_TRUE(has_valid_checksum("TG_abc"));
    EXPECT_TRUE(has_valid_checksum("eyJhbGciOiJIUzI1NiJ9.e30.x"));
}

TEST(ApiKey, HasAPrefixOfTheOperator) {
    const auto key = make_api_key(counting_up(), "acme_live");
    EXPECT_EQ(key.substr(0, key.size() - 6), "acme_live_flDIBkGwcRKRL9GXCgaFM3UNu2jQTClj");
    EXPECT_NE(key.substr(key.size() - 6), "3WwKTi") << "the checksum is that of the whole key";
    EXPECT_TRUE(has_valid_checksum(key));
    EXPECT_TRUE(has_valid_checksum("acme_live_x")) << "may be imported";
}

TEST(ApiKey, HasAPrefixThatAScannerFinds) {
    for (const char* prefix : {"a", "acme", "acme_live", "a1", "tg", "tgx", "t_g"}) {
        EXPECT_TRUE(is_valid_key_prefix(prefix)) << prefix;
    }
    for (const char* prefix : {"", "_a", "a_", "1a", "Acme", "a-b", "a b", "tg_", "tg_live"}) {
        EXPECT_FALSE(is_valid_key_prefix(prefix)) << prefix;
    }
    EXPECT_TRUE(is_valid_key_prefix(std::string(32, 'a')));
    EXPECT_FALSE(is_valid_key_prefix(std::string(33, 'a')));
}

TEST(KeyHint, IsTheEndOfAKeyThatIsLongEnough) {
    EXPECT_EQ(key_hint("tg_0000000000000000000000000000000042zZ9A"), "zZ9A");
    EXPECT_EQ(key_hint("12345678901234567890"), "7890");
    EXPECT_EQ(key_hint("1234567890123456789"), "");
    EXPECT_EQ(key_hint(""), "");
}

}  // namespace
}  // namespace tollgate
