#include "module/redis/topology/shared_master.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace tollgate::redis {

std::optional<ServerAddress> SharedMaster::address(std::uint32_t group) const {
    if (port_ == 0 || group_ != group) {
        return std::nullopt;
    }
    return ServerAddress{.host = std::string(host_.data(), length_), .port = port_};
}

bool SharedMaster::claim(std::uint32_t process, Time now, Time end) noexcept {
    if (searcher_ != 0 && searcher_ != process && search_end_ > now) {
        return false;
    }
    take_over(process, end);
    return true;
}

void SharedMaster::take_over(std::uint32_t process, Time end) noexcept {
    searcher_ = process;
    search_end_ = end;
}

void SharedMaster::release(std::uint32_t process) noexcept {
    if (searcher_ == process) {
        searcher_ = 0;
    }
}

void SharedMaster::depose(std::uint32_t server, Time until) noexcept {
    deposed_ = server;
    deposed_until_ = until;
}

std::uint32_t SharedMaster::deposed(Time now) const noexcept {
    return now < deposed_until_ ? deposed_ : 0;
}

SharedMaster::Change SharedMaster::publish(std::uint32_t process, std::uint32_t group,
                                           const ServerAddress& master) noexcept {
    release(process);
    ++searches_;
    const bool is_known = port_ != 0 && group_ == group;
    if (is_known && port_ == master.port &&
        std::string_view(host_.data(), length_) == master.host) {
        return Change::kNone;
    }
    group_ = group;
    port_ = master.port;
    length_ = static_cast<std::uint8_t>(std::min(master.host.size(), host_.size()));
    std::copy_n(master.host.begin(), length_, host_.begin());
    ++generation_;
    return is_known ? Change::kSwitched : Change::kFirst;
}

}  // namespace tollgate::redis
