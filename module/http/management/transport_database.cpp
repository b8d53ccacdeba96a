#include "module/http/management/transport_database.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <string>
#include <utility>

#include "module/gateway/engine.hpp"
#include "module/redis/protocol/error_scope.hpp"

namespace tollgate::http {

namespace {

using management::OperationError;
using management::Reason;

/// How many reads one call executes: it takes Redis some 30 us then. The call itself, without
/// reads, takes a third of it.
constexpr std::size_t kReadsPerCall = 16;

bool is_read(const management::Transaction& transaction) {
    return transaction.conditions.empty() && transaction.names.empty();
}

/// The transactions of one call: one, or some without conditions, one after the other.
struct CallOfMany {
    management::Transaction transaction{};
    std::size_t first = 0;             ///< index of the first of them
    std::vector<std::size_t> sizes{};  ///< how many commands each has

    bool takes(const management::Transaction& next) const {
        return is_read(transaction) && is_read(next) &&
               transaction.commands.size() + next.commands.size() <= kReadsPerCall;
    }
    void add(management::Transaction next) {
        sizes.push_back(next.commands.size());
        if (sizes.size() == 1) {
            transaction = std::move(next);
        } else {
            std::ranges::move(next.commands, std::back_inserter(transaction.commands));
        }
    }
};

/// Puts transactions into few calls. If they may not share one, each has its own.
std::vector<CallOfMany> calls_of(std::vector<management::Transaction> transactions,
                                 bool may_share) {
    std::vector<CallOfMany> calls;
    for (std::size_t i = 0; i < transactions.size(); ++i) {
        if (calls.empty() || !may_share || !calls.back().takes(transactions[i])) {
            calls.emplace_back().first = i;
        }
        calls.back().add(std::move(transactions[i]));
    }
    return calls;
}

/// Transactions that were sent together.
struct Batch {
    std::vector<CallOfMany> calls;
    std::vector<management::Replies> replies;
    std::exception_ptr error;  ///< of one that failed
    std::size_t pending;
    management::Database::Done done;

    /// Keeps the replies to a call.
    void keep(std::size_t call, std::vector<redis::Value> values) {
        const auto& made = calls[call];
        auto all = replies_of(std::move(values), made.transaction);
        if (made.sizes.size() == 1) {
            replies[made.first] = std::move(all);
            return;
        }
        auto next = all.value().begin();
        for (std::size_t i = 0; i < made.sizes.size(); ++i) {
            const auto end = next + static_cast<std::ptrdiff_t>(made.sizes[i]);
            replies[made.first + i].emplace(std::make_move_iterator(next),
                                            std::make_move_iterator(end));
            next = end;
        }
    }

    void finish_one() {
        if (--pending == 0) {
            if (error) {
                done(error);
            } else {
                done(std::move(replies));
            }
        }
    }
};

/// Receives the reply to one call of a batch. When the batch is complete, the operation
/// continues, which may send further calls.
class TransactionReply final : public redis::ReplyHandler {
  public:
    TransactionReply(std::shared_ptr<Batch> batch, std::size_t index, gateway::Engine& engine,
                     redis::Slot slot, TransportDatabase& database)
        : batch_(std::move(batch)),
          index_(index),
          engine_(engine),
          slot_(slot),
          database_(database) {}

    void on_values(std::span<const redisReply* const> values) noexcept override {
        finish([&] {
            database_.note_use(slot_);
            std::vector<redis::Value> copies;
            copies.reserve(values.size());
            for (const auto* value : values) {
                copies.push_back(redis::copy_of(*value));
            }
            batch_->keep(index_, std::move(copies));
        });
    }
    void on_error(std::string_view message) noexcept override {
        // The connection itself has detected an error that concerns the server: the connection of
        // the requests goes on.
        if (redis::error_scope(message) != redis::ErrorScope::kServer) {
            engine_.report_error(slot_, message);
        }
        finish([&] {
            throw OperationError(Reason::kUnavailable,
                                 "Redis replies with an error: " + std::string(message));
        });
    }
    void on_failure() noexcept override {
        finish([] { throw OperationError(Reason::kUnavailable, "Redis is unreachable"); });
    }

  private:
    template <typename Step>
    void finish(Step step) noexcept {
        try {
            step();
        } catch (const std::exception&) {
            batch_->error = std::current_exception();
        }
        gateway::attempt(engine_.log(), [&] { batch_->finish_one(); });
    }

    std::shared_ptr<Batch> batch_;
    std::size_t index_;
    gateway::Engine& engine_;
    redis::Slot slot_;
    TransportDatabase& database_;
};

}  // namespace

void TransportDatabase::execute(std::vector<management::Transaction> transactions, Done done) {
    if (transactions.empty()) {
        done(std::vector<management::Replies>());
        return;
    }
    gateway::Engine& engine = transport_.engine();
    std::vector<management::Replies> replies(transactions.size());
    auto calls = calls_of(std::move(transactions), !engine.settings().is_cluster);
    const std::size_t count = calls.size();
    // One more is pending until all are sent: calls may fail at once.
    auto batch = std::make_shared<Batch>(Batch{.calls = std::move(calls),
                                               .replies = std::move(replies),
                                               .error = nullptr,
                                               .pending = count + 1,
                                               .done = std::move(done)});
    for (std::size_t i = 0; i < count; ++i) {
        const auto& transaction = batch->calls[i].transaction;
        const auto slot = engine.slot_of_key(key_of(transaction, keys()));
        const auto script_call = call_of(transaction, keys());
        redis::Call call{.script = &redis::transaction_script(), .lane = redis::Lane::kManagement};
        for (const auto& key : script_call.keys) {
            call.keys.add(key);
        }
        for (const auto& argument : script_call.arguments) {
            call.arguments.add(argument);
        }
        note_use(slot);
        engine.transport().run(slot, std::move(call),
                               std::make_unique<TransactionReply>(batch, i, engine, slot, *this));
    }
    batch->finish_one();
}

void TransportDatabase::note_use(redis::Slot slot) {
    if (auto server = transport_.master_of(slot)) {
        auto& used = used_[server->name];
        used.addresses = std::move(server->addresses);
        used.slots.insert(slot);
    }
}

management::Task<management::Durability> TransportDatabase::acknowledge() {
    auto used = std::exchange(used_, {});
    auto durability = co_await acknowledge_changes(*this, transport_, used);
    // After ASK, another server has executed a call.
    const auto redirections = transport_.engine().statistics()["redirections"].value();
    if (std::exchange(redirections_, redirections) != redirections) {
        durability = std::max(durability, management::Durability::kUnverified);
    }
    if (durability != management::Durability::kConfirmed &&
        durability != management::Durability::kUndone) {
        // The next steps of the operation do not make them durable: ask again.
        used_.merge(used);
    }
    co_return durability;
}

void TransportDatabase::wait(std::chrono::milliseconds time, Done done) {
    std::erase_if(waits_, [](const auto& wait) { return !wait->done; });
    auto& wait = *waits_.emplace_back(std::make_unique<Wait>());
    wait.done = std::move(done);
    wait.timer = transport_.engine().make_timer([&wait] {
        const auto waited = std::exchange(wait.done, nullptr);
        waited(std::vector<management::Replies>());
    });
    wait.timer->start(time);
}

std::chrono::milliseconds TransportDatabase::elapsed() const {
    return std::chrono::ceil<std::chrono::milliseconds>(transport_.engine().steady_time() -
                                                        arrival_);
}

std::vector<const PlanTable*> TransportDatabase::tables() const {
    const gateway::Engine& engine = transport_.engine();
    std::vector<const PlanTable*> found;
    for (const auto& served : engine.tables()) {
        if (served.redis == engine.settings().name_hash) {
            found.push_back(served.table);
        }
    }
    return found;
}

bool TransportDatabase::may_span(std::string_view key, std::string_view other) const {
    return !transport_.engine().settings().is_cluster || key == other;
}

}  // namespace tollgate::http
