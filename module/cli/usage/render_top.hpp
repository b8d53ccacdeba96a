#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "module/cli/terminal/render.hpp"
#include "module/cli/usage/quota_watch.hpp"
#include "module/key/key_record.hpp"

namespace tollgate::cli {

/// A line of `tollgate top`.
struct TopRow {
    ActiveQuota quota;
    KeyRecord record;  ///< empty where the key has ended
};

/// What one refresh of `tollgate top` shows.
struct TopView {
    Instant now;
    std::size_t ids = 0;             ///< that are watched
    bool whole = true;               ///< all there are
    std::optional<double> progress;  ///< see QuotaWatch
    std::size_t active = 0;
    std::vector<TopRow> rows;
};

/// Lines of a refresh that are not rows.
constexpr std::size_t kTopHeadLines = 4;

/// One refresh: lines of text, or a JSON document on one line.
std::string render_top(Format format, const TopView& view);

}  // namespace tollgate::cli
