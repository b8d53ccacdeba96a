#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "module/management/database.hpp"

namespace tollgate::management {

/// A Redis that answers each command at once, whatever the conditions of its transaction. Each key
/// may be in a slot of its own. No write is lost.
class ReplyingDatabase : public Database {
  public:
    void execute(std::vector<Transaction> transactions, Done done) override {
        std::vector<Replies> replies;
        replies.reserve(transactions.size());
        for (const Transaction& transaction : transactions) {
            auto& values = replies.emplace_back().emplace();
            values.reserve(transaction.commands.size());
            for (const auto& command : transaction.commands) {
                values.push_back(reply_to(command));
            }
        }
        done(std::move(replies));
    }
    void wait(std::chrono::milliseconds /*time*/, Done done) override {
        done(std::vector<Replies>{});
    }
    bool may_span(std::string_view /*key*/, std::string_view /*other*/) const override {
        return true;
    }
    Task<Durability> acknowledge() override { co_return Durability::kConfirmed; }

  private:
    virtual redis::Value reply_to(const redis::Command& command) = 0;
};

}  // namespace tollgate::management
