#include "module/body/value_search.hpp"

#include <algorithm>

namespace tollgate::body {

void ValueSearch::restart() {
    std::ranges::fill(values_, Scalar());
    matched_ = {};
    depth_ = 0;
}

void ValueSearch::on_name(std::string_view name) noexcept {
    match([&](const ReferenceToken& token) { return token.name == name; });
}

void ValueSearch::on_string(std::string_view text) noexcept {
    begin_value();
    set([&] { return Scalar::of_string(text); });
}

void ValueSearch::on_number(std::string_view number) noexcept {
    begin_value();
    set([&] { return Scalar::of_number(number); });
}

void ValueSearch::on_truth(bool value) noexcept {
    begin_value();
    set([&] { return Scalar::of_truth(value); });
}

void ValueSearch::on_null() noexcept {
    begin_value();
    set([] { return Scalar(); });
}

void ValueSearch::on_object() noexcept {
    begin_container(kObject);
}

void ValueSearch::on_array() noexcept {
    begin_container(0);
}

/// Compares the last step to the present value with the pointers that lead to its container.
template <typename Matches>
void ValueSearch::match(Matches matches) {
    if (depth_ > kMostTokens) {
        return;
    }
    const std::size_t last = depth_ - 1;
    for (std::size_t i = 0; i < pointers_.size(); ++i) {
        if (matched_[i] >= last) {
            const auto& tokens = pointers_[i].tokens;
            const bool goes_on = last < tokens.size() && matches(tokens[last]);
            matched_[i] = static_cast<std::uint8_t>(last + (goes_on ? 1 : 0));
        }
    }
}

/// In an array, the step to a value is its index. In an object, it was the name.
void ValueSearch::begin_value() {
    if (depth_ == 0 || depth_ > kMostTokens || next_index_[depth_ - 1] == kObject) {
        return;
    }
    const std::uint64_t index = next_index_[depth_ - 1]++;
    match([&](const ReferenceToken& token) { return token.index == index; });
}

/// The value replaces what an earlier member with the same name had, also inside of it. `make` is
/// called only for what a pointer points to.
template <typename Make>
void ValueSearch::set(Make make) {
    for (std::size_t i = 0; i < pointers_.size(); ++i) {
        if (matched_[i] == depth_) {
            values_[i] = pointers_[i].tokens.size() == depth_ ? make() : Scalar();
        }
    }
}

void ValueSearch::begin_container(std::uint64_t first_index) {
    begin_value();
    set([] { return Scalar(); });
    if (depth_ < kMostTokens) {
        next_index_[depth_] = first_index;
    }
    ++depth_;
}

}  // namespace tollgate::body
