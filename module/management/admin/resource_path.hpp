#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::management {

/// The segments of a path, which `/` separates. Each is decoded once, after the path was split: an
/// encoded `/` is a part of its segment (RFC 3986 section 2.4).
class ResourcePath {
  public:
    /// Reads the path of a request, as the client sent it, below `base`, the decoded name of a
    /// location such as `/admin/`. Nothing if the path is not below it, segment by segment, or is
    /// not encoded properly.
    static std::optional<ResourcePath> below(std::string_view base, std::string_view path);
    /// Splits a path that was decoded, such as `keys/ID`.
    static ResourcePath of_decoded(std::string_view path);

    /// The segments. The last one is empty if the path ends with `/`.
    const std::vector<std::string>& segments() const { return segments_; }
    /// The path with the segments encoded in one way.
    std::string text() const;

  private:
    std::vector<std::string> segments_;
};

}  // namespace tollgate::management
