#include "module/management/id_list.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "module/key/key_record.hpp"

namespace tollgate::management {

namespace {

/// Parses a score of a sorted set. Nothing if it is not a finite number.
std::optional<double> parse_score(std::string_view text) {
    double score = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), score);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    return is_number && std::isfinite(score) ? std::optional(score) : std::nullopt;
}

/// The places in a reply with scores.
std::vector<ListCursor> places_in(redis::Value& with_scores) {
    auto& elements = with_scores.elements;
    std::vector<ListCursor> places;
    places.reserve(elements.size() / 2);
    for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
        places.push_back({.created = parse_score(elements[i + 1].text).value_or(0),
                          .id = std::move(elements[i].text)});
    }
    return places;
}

}  // namespace

std::string ListCursor::score() const {
    std::array<char, 512> score{};  // the smallest number has 326 characters
    const auto end =
        std::to_chars(score.begin(), score.end(), created, std::chars_format::fixed).ptr;
    return {score.begin(), end};
}

std::string ListCursor::cursor() const {
    return score() + ":" + id;
}

std::optional<ListCursor> ListCursor::of_cursor(std::string_view cursor) {
    const auto colon = cursor.find(':');
    if (colon == std::string_view::npos || !is_valid_key_id(cursor.substr(colon + 1))) {
        return std::nullopt;
    }
    const auto score = parse_score(cursor.substr(0, colon));
    return score ? std::optional(ListCursor{*score, std::string(cursor.substr(colon + 1))})
                 : std::nullopt;
}

Task<std::vector<ListCursor>> IdList::after(std::optional<ListCursor> place, std::size_t count) {
    if (!place) {
        co_return co_await places(0, count);
    }
    // More than one command is needed only if many ids before the place have its score.
    constexpr std::size_t kFewOfScore = 8;
    redis::Command from_score{"ZRANGEBYSCORE",
                              key_,
                              place->score(),
                              "+inf",
                              "WITHSCORES",
                              "LIMIT",
                              "0",
                              std::to_string(count + kFewOfScore)};
    auto next = co_await run(database_, std::move(from_score));
    auto found = places_in(next);
    const bool is_end = found.size() < count + kFewOfScore;
    std::erase_if(found, [&](const ListCursor& other) { return other <= *place; });
    if (is_end || found.size() >= count) {
        co_return found;
    }
    co_return co_await after_rank(std::move(*place), count);
}

/// The next places after one, by their ranks.
Task<std::vector<ListCursor>> IdList::after_rank(ListCursor place, std::size_t count) {
    // Ids may join or leave the list after the rank is read. Therefore the range begins before the
    // rank and is longer than needed. The next attempt has a larger margin, but the reply stays
    // small: so many ids do not leave again and again between two commands.
    constexpr std::size_t kLargestMargin = 64;
    constexpr int kMostAttempts = 20;
    std::size_t margin = 1;
    for (int attempts = 0; attempts < kMostAttempts; ++attempts) {
        const auto rank = co_await rank_after(place);
        const auto first = rank - std::min(rank, margin);
        const auto size = rank - first + count + margin;
        auto found = co_await places(first, size);
        const bool is_end = found.size() < size;
        const bool has_place_before = first == 0 || (!found.empty() && found.front() <= place);
        std::erase_if(found, [&](const ListCursor& other) { return other <= place; });
        if (has_place_before && (is_end || found.size() >= count)) {
            co_return found;
        }
        margin = std::min(4 * margin, kLargestMargin);
    }
    throw OperationError(Reason::kConcurrentChange, "the list of ids changes too fast");
}

redis::Command IdList::places_at(std::size_t rank, std::size_t count) const {
    return {"ZRANGE", key_, std::to_string(rank), std::to_string(rank + count - 1), "WITHSCORES"};
}

/// The places from this rank on.
Task<std::vector<ListCursor>> IdList::places(std::size_t rank, std::size_t count) {
    auto command = places_at(rank, count);
    auto with_scores = co_await run(database_, std::move(command));
    co_return places_in(with_scores);
}

/// The rank of the first place after this one. Its id may have left the list.
Task<std::size_t> IdList::rank_after(ListCursor place) {
    std::vector<redis::Command> of_id{{"ZRANK", key_, place.id}, {"ZSCORE", key_, place.id}};
    const auto replies = co_await run_all(database_, std::move(of_id));
    const auto& rank = replies[0];
    // An id that was issued again has another place.
    if (!rank.is_nil() && parse_score(replies[1].text) == place.created) {
        co_return static_cast<std::size_t>(rank.integer) + 1;
    }
    redis::Command count{"ZCARD", key_};
    const auto all = co_await run(database_, std::move(count));
    std::size_t first = 0;
    auto end = static_cast<std::size_t>(all.integer);
    while (first < end) {
        constexpr std::size_t kAtOnce = 16;
        const auto step = (end - first + kAtOnce - 1) / kAtOnce;
        std::vector<redis::Command> probes;
        probes.reserve(kAtOnce);
        for (auto probed = first; probed < end; probed += step) {
            probes.push_back(places_at(probed, 1));
        }
        auto found = co_await run_all(database_, std::move(probes));
        std::size_t passed = 0;
        for (auto at = found.begin(); at != found.end(); ++at, ++passed) {
            const auto places = places_in(*at);
            if (places.empty() || places.front() > place) {
                break;
            }
        }
        end = passed < found.size() ? first + passed * step : end;
        first = passed > 0 ? first + (passed - 1) * step + 1 : end;
    }
    co_return first;
}

Task<std::vector<std::optional<ListCursor>>> IdList::places_of(std::vector<std::string> ids) {
    std::vector<std::optional<ListCursor>> found(ids.size());
    if (ids.empty()) {
        co_return found;
    }
    redis::Command command{"ZMSCORE", key_};
    command.insert(command.end(), ids.begin(), ids.end());
    const auto scores = co_await run(database_, std::move(command));
    for (std::size_t i = 0; i < std::min(ids.size(), scores.elements.size()); ++i) {
        const auto& score = scores.elements[i];
        if (!score.is_nil()) {
            found[i] =
                ListCursor{.created = parse_score(score.text).value_or(0), .id = std::move(ids[i])};
        }
    }
    co_return found;
}

Task<std::vector<ListCursor>> IdList::page(std::optional<ListCursor> place, std::size_t count,
                                           bool& has_more) {
    auto found = co_await after(std::move(place), count + 1);
    has_more = found.size() > count;
    found.resize(std::min(found.size(), count));
    co_return found;
}

}  // namespace tollgate::management
