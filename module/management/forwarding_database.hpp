#pragma once

#include <chrono>
#include <coroutine>
#include <string_view>
#include <utility>
#include <vector>

#include "module/management/database.hpp"

namespace tollgate::management {

/// A database that passes everything on to another one. What differs is overridden.
class ForwardingDatabase : public Database {
  public:
    /// `database` must outlive the object.
    explicit ForwardingDatabase(Database& database) : database_(database) {}

    void execute(std::vector<Transaction> transactions, Done done) override {
        database_.execute(std::move(transactions), std::move(done));
    }
    void wait(std::chrono::milliseconds time, Done done) override {
        database_.wait(time, std::move(done));
    }
    bool defer(std::coroutine_handle<> task) override { return database_.defer(task); }
    std::chrono::milliseconds elapsed() const override { return database_.elapsed(); }
    bool may_span(std::string_view key, std::string_view other) const override {
        return database_.may_span(key, other);
    }
    Task<Durability> acknowledge() override { return database_.acknowledge(); }

  private:
    Database& database_;
};

}  // namespace tollgate::management
