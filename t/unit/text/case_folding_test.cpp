#include "module/text/case_folding.hpp"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

TEST(FoldCase, MakesLowerCaseLetters) {
    EXPECT_EQ(fold_case("ACME Ltd 1"), "acme ltd 1");
    EXPECT_EQ(fold_case("ÀÖØÞ àöøþ ĀāŒœŠšŽžȘș"), "àöøþ àöøþ āāœœššžžșș");
    EXPECT_EQ(fold_case("ΑΩ ΆΈΌΎ"), "αω άέόύ");
    EXPECT_EQ(fold_case("АЯ ЀЏ ҐґЁ"), "ая ѐџ ґґё");
}

TEST(FoldCase, KeepsOtherCharacters) {
    for (const auto* const text : {"", "×÷ßÿ", "ĸŉ", "日本語", "🙂", "€ – “x”"}) {
        EXPECT_EQ(fold_case(text), text);
    }
}

TEST(FoldCase, KeepsBytesThatAreNoUtf8) {
    EXPECT_EQ(fold_case("A\xff\xc3Z\xe2\x82"), "a\xff\xc3z\xe2\x82");
}

TEST(FoldCase, ChangesNothingTheSecondTime) {
    std::string all;
    for (unsigned character = 0x80; character < 0x800; ++character) {
        all += static_cast<char>(0xc0U | character >> 6U);
        all += static_cast<char>(0x80U | (character & 0x3fU));
    }
    const auto folded = fold_case(all);
    EXPECT_EQ(folded.size(), all.size());
    EXPECT_EQ(fold_case(folded), folded);
}

}  // namespace
}  // namespace tollgate
