#include "module/management/admin/resource_path.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "module/text/percent_encoding.hpp"

namespace tollgate::management {

namespace {

std::vector<std::string_view> split(std::string_view path) {
    std::vector<std::string_view> segments;
    while (true) {
        const auto slash = path.find('/');
        segments.push_back(path.substr(0, slash));
        if (slash == std::string_view::npos) {
            return segments;
        }
        path.remove_prefix(slash + 1);
    }
}

}  // namespace

std::optional<ResourcePath> ResourcePath::below(std::string_view base, std::string_view path) {
    auto above = split(base);
    above.pop_back();  // after the last `/`
    ResourcePath found;
    for (const auto segment : split(path)) {
        auto decoded = percent_decode(segment);
        if (!decoded) {
            return std::nullopt;
        }
        found.segments_.push_back(std::move(*decoded));
    }
    auto& segments = found.segments_;
    const auto count = static_cast<std::ptrdiff_t>(above.size());
    if (segments.size() <= above.size() ||
        !std::equal(above.begin(), above.end(), segments.begin())) {
        return std::nullopt;
    }
    segments.erase(segments.begin(), segments.begin() + count);
    return found;
}

ResourcePath ResourcePath::of_decoded(std::string_view path) {
    ResourcePath found;
    for (const auto segment : split(path)) {
        found.segments_.emplace_back(segment);
    }
    return found;
}

std::string ResourcePath::text() const {
    std::string text;
    for (const auto& segment : segments_) {
        text.append(&segment == &segments_.front() ? "" : "/").append(percent_encode(segment));
    }
    return text;
}

}  // namespace tollgate::management
