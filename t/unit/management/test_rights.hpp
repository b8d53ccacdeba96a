#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "module/management/admin/caller_rights.hpp"

namespace tollgate::management {

/// The rights of a caller that a test sets.
class TestRights final : public CallerRights {
  public:
    void check(Done done) override {
        if (left == 0) {
            done(AdminResponse{.status = 401, .body = R"({"code":"invalid"})", .is_refusal = true});
            return;
        }
        --left;
        done(held);
    }

    HeldRights held{.id = "portal", .scopes = "a b"};
    /// How many checks are still answered with these rights.
    std::size_t left = std::numeric_limits<std::size_t>::max();
};

}  // namespace tollgate::management
