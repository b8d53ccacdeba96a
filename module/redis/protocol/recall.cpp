#include "module/redis/protocol/recall.hpp"

#include <algorithm>

#include "module/redis/protocol/schema.hpp"

namespace tollgate::redis {

std::string Recall::text() const {
    return std::string(what == What::kLeases ? kRecallOf : kPlacesOf)
        .append(id)
        .append(value.suffix());
}

std::optional<Recall> read_recall(std::string_view message) {
    const bool is_of_places = message.starts_with(kPlacesOf);
    if (!is_of_places && !message.starts_with(kRecallOf)) {
        return std::nullopt;
    }
    if (is_of_places) {
        return Recall{.what = Recall::What::kPlaces, .id = message.substr(kPlacesOf.size())};
    }
    const auto counter = message.substr(kRecallOf.size());
    const auto colon = std::min(counter.find(':'), counter.size());
    return Recall{.what = Recall::What::kLeases,
                  .id = counter.substr(0, colon),
                  .value = ValueDigest::read(counter.substr(colon))};
}

}  // namespace tollgate::redis
