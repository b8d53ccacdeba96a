#include "module/body/number_search.hpp"

#include <limits>

#include "module/text/whole_number.hpp"

namespace tollgate::body {

namespace {

/// An unsigned integer, as JSON Schema defines integers: 1.0 is one.
NumberSearch::Value parse_unsigned(std::string_view number) {
    const auto point = number.find('.');
    if (point != std::string_view::npos &&
        number.find_first_not_of('0', point + 1) != std::string_view::npos) {
        return std::nullopt;
    }
    return parse_whole_number(number.substr(0, point), 0, std::numeric_limits<std::int64_t>::max());
}

}  // namespace

void NumberSearch::restart() {
    values_ = {};
    matched_ = {};
    depth_ = 0;
}

void NumberSearch::on_name(std::string_view name) noexcept {
    match([&](const ReferenceToken& token) { return token.name == name; });
}

void NumberSearch::on_number(std::string_view number) noexcept {
    begin_value();
    set(parse_unsigned(number));
}

void NumberSearch::on_other() noexcept {
    begin_value();
    set(std::nullopt);
}

void NumberSearch::on_object() noexcept {
    begin_container(kObject);
}

void NumberSearch::on_array() noexcept {
    begin_container(0);
}

/// Compares the last step to the present value with the pointers that lead to its container.
template <typename Matches>
void NumberSearch::match(Matches matches) {
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
void NumberSearch::begin_value() {
    if (depth_ == 0 || depth_ > kMostTokens || next_index_[depth_ - 1] == kObject) {
        return;
    }
    const std::uint64_t index = next_index_[depth_ - 1]++;
    match([&](const ReferenceToken& token) { return token.index == index; });
}

/// The value replaces what an earlier member with the same name had, also inside of it.
void NumberSearch::set(Value value) {
    for (std::size_t i = 0; i < pointers_.size(); ++i) {
        if (matched_[i] == depth_) {
            values_[i] = pointers_[i].tokens.size() == depth_ ? value : std::nullopt;
        }
    }
}

void NumberSearch::begin_container(std::uint64_t first_index) {
    begin_value();
    set(std::nullopt);
    if (depth_ < kMostTokens) {
        next_index_[depth_] = first_index;
    }
    ++depth_;
}

}  // namespace tollgate::body
