#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "module/report/statistics.hpp"

namespace tollgate {

/// The contents of `tollgate_status`: a copy of the statistics, and facts about the node.
struct Status {
    struct Requests {
        std::string tables;  ///< joined by `+`, as one `tollgate` directive names them
        std::string plan;    ///< the plan in the first of them; empty for requests without a plan
        RequestStatistics counts;
    };
    struct Redis {
        std::string name;
        RedisStatistics counts;
    };

    std::string_view version;
    std::chrono::sys_seconds now;
    std::size_t workers = 0;
    std::size_t zone_size = 0;  ///< bytes
    NodeStatistics node;
    std::array<StoreStatistics, kStores.size()> stores{};
    std::vector<Requests> requests;
    std::vector<Redis> redis;
};

}  // namespace tollgate
