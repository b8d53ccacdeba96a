#include "module/management/group_index.hpp"

#include <utility>

namespace tollgate::management {

Task<std::vector<OwnerName>> owners_of(Database& database, const redis::Keys& keys,
                                       std::vector<std::string> ids) {
    std::vector<OwnerName> owners;
    owners.reserve(ids.size());
    if (ids.empty()) {
        co_return owners;
    }
    redis::Command read{"HMGET", keys.group_of_ids()};
    read.insert(read.end(), ids.begin(), ids.end());
    const auto groups = co_await run(database, std::move(read));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        std::string group = i < groups.elements.size() ? groups.elements[i].text : std::string();
        owners.push_back({.id = std::move(ids[i]), .group = std::move(group)});
    }
    co_return owners;
}

Task<OwnerName> owner_of(Database& database, const redis::Keys& keys, std::string id) {
    std::vector<std::string> ids;
    ids.push_back(std::move(id));
    auto owners = co_await owners_of(database, keys, std::move(ids));
    co_return std::move(owners.front());
}

redis::Command indexing(const redis::Keys& keys, std::string id, std::string group) {
    if (group.empty()) {
        return {"HDEL", keys.group_of_ids(), std::move(id)};
    }
    return {"HSET", keys.group_of_ids(), std::move(id), std::move(group)};
}

OwnerName owner_in(std::string_view text) {
    const auto tag = text.substr(0, text.find('}'));
    if (tag.size() == text.size() || tag.empty()) {
        return {};
    }
    const auto rest = text.substr(tag.size() + 1);
    const auto id = rest.substr(0, rest.find(':'));
    return id.empty() ? OwnerName{.id = std::string(tag)}
                      : OwnerName{.id = std::string(id), .group = std::string(tag)};
}

}  // namespace tollgate::management
