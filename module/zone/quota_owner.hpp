#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "module/key/key_record.hpp"

namespace tollgate {

/// Whose a quota is: a valid id, and its group; empty: none. Of the quota of a group, the id is the
/// group. The texts must outlive it.
struct QuotaOwner {
    std::string_view id;
    std::string_view group{};

    /// The text whose slot in a cluster has the quota.
    std::string_view slot_text() const { return group.empty() ? id : group; }
    /// The bytes that a StoredOwner needs for it.
    std::size_t size() const { return id.size() + (group.empty() ? 0 : 1 + group.size()); }
};

/// An owner as plain memory has it: the id, and a zero byte and the group if it has one. Zero bytes
/// follow. No id has one.
template <std::size_t kRoom>
class StoredOwner {
  public:
    /// The owner has at most kRoom bytes.
    explicit StoredOwner(const QuotaOwner& owner) {
        char* const end = text_.data() + text_.size();
        char* to = std::ranges::copy(owner.id.substr(0, kRoom), text_.data()).out;
        if (!owner.group.empty() && end - to > 1) {
            *to++ = '\0';
            to = std::ranges::copy(owner.group.substr(0, static_cast<std::size_t>(end - to)), to)
                     .out;
        }
        std::fill(to, end, '\0');
    }

    bool is(const QuotaOwner& owner) const {
        const std::size_t size = owner.size();
        return size <= kRoom && std::memcmp(text_.data(), owner.id.data(), owner.id.size()) == 0 &&
               (owner.group.empty() || is_group(owner.id.size(), owner.group)) && ends_at(size);
    }
    /// Refers to this. A worker that is killed may leave any bytes, but no longer texts.
    QuotaOwner view() const {
        const std::string_view text(text_.data(), text_.size());
        const std::string_view id = text.substr(0, text.find('\0'));
        const std::string_view rest = text.substr(std::min(id.size() + 1, text.size()));
        return {id, rest.substr(0, rest.find('\0'))};
    }

  private:
    bool is_group(std::size_t after, std::string_view group) const {
        return text_[after] == '\0' &&
               std::memcmp(text_.data() + after + 1, group.data(), group.size()) == 0;
    }
    /// Whether neither a longer text nor a group follows.
    bool ends_at(std::size_t size) const {
        return (size >= kRoom || text_[size] == '\0') &&
               (size + 1 >= kRoom || text_[size + 1] == '\0');
    }

    std::array<char, kRoom> text_;
};

/// The bytes of the longest owner.
constexpr std::size_t kLongestOwner = 2 * kLongestId + 1;

}  // namespace tollgate
