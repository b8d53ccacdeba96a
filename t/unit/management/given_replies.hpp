#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "t/unit/management/replying_database.hpp"

namespace tollgate::management {

/// The value of an array of texts, as Redis replies.
inline redis::Value array_of(std::initializer_list<std::string> texts) {
    redis::Value array;
    array.kind = redis::Value::Kind::kArray;
    for (const auto& text : texts) {
        auto& element = array.elements.emplace_back();
        element.kind = redis::Value::Kind::kText;
        element.text = text;
    }
    return array;
}

/// A reply to HSCAN that is the last page.
inline redis::Value page_of(std::initializer_list<std::string> fields) {
    auto page = array_of({"0"});
    page.elements.push_back(array_of(fields));
    return page;
}

/// The value of an integer.
inline redis::Value value_of(std::int64_t integer) {
    redis::Value value;
    value.kind = redis::Value::Kind::kInteger;
    value.integer = integer;
    return value;
}

/// A Redis that answers each command with a given reply, whatever the command asks for. It executes
/// no transaction with conditions or names: all that change a key have them.
class GivenReplies final : public ReplyingDatabase {
  public:
    /// Replies by the name of the command and the kind of its key, such as `HGETALL quota`, `ZRANGE
    /// ids` and `TIME`. Of several replies each answers one command, and the last one all further
    /// commands. A command without a reply is answered with nil.
    using Given = std::map<std::string, std::vector<redis::Value>, std::less<>>;

    /// Keys begin with this prefix.
    static redis::Keys keys() { return redis::Keys(std::string(kPrefix)); }

    explicit GivenReplies(Given given) : given_(std::move(given)) {}

    void execute(std::vector<Transaction> transactions, Done done) override {
        const bool changes = std::ranges::any_of(transactions, [](const Transaction& transaction) {
            return !transaction.conditions.empty() || !transaction.names.empty();
        });
        if (changes) {
            const OperationError error(Reason::kUnavailable, "changes are not executed");
            done(std::make_exception_ptr(error));
            return;
        }
        ReplyingDatabase::execute(std::move(transactions), std::move(done));
    }

  private:
    static constexpr std::string_view kPrefix = "t:";

    redis::Value reply_to(const redis::Command& command) override {
        std::string name = command.front();
        if (command.size() > 1) {
            auto kind = std::string_view(command[1]).substr(kPrefix.size());
            name.append(" ").append(kind.substr(0, kind.find(':')));
        }
        const auto found = given_.find(name);
        if (found == given_.end()) {
            return {};
        }
        auto& next = next_[name];
        const auto index = std::min(next++, found->second.size() - 1);
        return found->second[index];
    }

    Given given_;
    std::map<std::string, std::size_t, std::less<>> next_;
};

}  // namespace tollgate::management
