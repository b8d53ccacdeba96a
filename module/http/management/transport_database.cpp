#include "module/http/management/transport_database.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <string>
#include <utility>

#include "module/redis/protocol/error_scope.hpp"

namespace tollgate::http {

namespace {

using management::OperationError;
using management::Reason;

/// What the reads of one call may cost, unless a single one costs more: it takes Redis some 25 us
/// then. The call itself, without reads, takes a third of it.
constexpr std::size_t kCostOfCall = 64;
/// What a read costs, besides its words.
constexpr std::size_t kCostOfRead = 4;

bool is_read(const management::Transaction& transaction) {
    return transaction.conditions.empty() && transaction.names.empty();
}

std::size_t cost_of(const management::Transaction& transaction) {
    std::size_t cost = 0;
    for (const auto& command : transaction.commands) {
        cost += kCostOfRead + command.size();
    }
    return cost;
}

}  // namespace

/// Transactions that are executed together.
struct TransportDatabase::Batch {
    /// The transactions of one call: one, or some without conditions, one after the other.
    struct Call {
        management::Transaction transaction{};
        std::size_t first = 0;             ///< index of the first of them
        std::vector<std::size_t> sizes{};  ///< how many commands each has

        bool takes(const management::Transaction& next) const {
            return is_read(transaction) && is_read(next) &&
                   cost_of(transaction) + cost_of(next) <= kCostOfCall;
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

    std::vector<management::Transaction> transactions;
    bool may_share = false;  ///< whether one call may execute several
    std::size_t sent = 0;    ///< of the transactions
    std::vector<management::Replies> replies;
    std::exception_ptr error;  ///< of one that failed
    std::size_t pending = 1;   ///< calls, and one more until all are sent: calls may fail at once
    management::Database::Done done;

    /// The next transactions, as many as one call executes.
    Call next_call() {
        Call call;
        call.first = sent;
        do {
            call.add(std::move(transactions[sent++]));
        } while (may_share && sent < transactions.size() && call.takes(transactions[sent]));
        return call;
    }

    /// Keeps the replies to a call.
    void keep(const Call& call, std::vector<redis::Value> values) {
        auto all = replies_of(std::move(values), call.transaction);
        if (call.sizes.size() == 1) {
            replies[call.first] = std::move(all);
            return;
        }
        auto next = all.value().begin();
        for (std::size_t i = 0; i < call.sizes.size(); ++i) {
            const auto end = next + static_cast<std::ptrdiff_t>(call.sizes[i]);
            replies[call.first + i].emplace(std::make_move_iterator(next),
                                            std::make_move_iterator(end));
            next = end;
        }
    }

    void finish() {
        if (error) {
            done(error);
        } else {
            done(std::move(replies));
        }
    }
};

/// Receives the reply to one call of a batch. When the batch is complete, the operation
/// continues in a later turn.
class TransportDatabase::BatchReply final : public redis::ReplyHandler {
  public:
    BatchReply(std::shared_ptr<Batch> batch, Batch::Call call, redis::Slot slot,
               TransportDatabase& database)
        : batch_(std::move(batch)), call_(std::move(call)), slot_(slot), database_(database) {}

    void on_values(std::span<const redisReply* const> values) noexcept override {
        finish([&] {
            database_.note_use(slot_);
            std::vector<redis::Value> copies;
            copies.reserve(values.size());
            for (const auto* value : values) {
                copies.push_back(redis::copy_of(*value));
            }
            batch_->keep(call_, std::move(copies));
        });
    }
    void on_error(std::string_view message) noexcept override {
        // The connection itself has detected an error that concerns the server: the connection of
        // the requests goes on.
        if (redis::error_scope(message) != redis::ErrorScope::kServer) {
            database_.context_.report_error(slot_, message);
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
        attempt(database_.context_.log(), [&] { database_.finish_one(batch_); });
    }

    std::shared_ptr<Batch> batch_;
    Batch::Call call_;
    redis::Slot slot_;
    TransportDatabase& database_;
};

void TransportDatabase::execute(std::vector<management::Transaction> transactions, Done done) {
    if (transactions.empty()) {
        done(std::vector<management::Replies>());
        return;
    }
    auto batch = std::make_shared<Batch>();
    batch->may_share = !context_.settings().is_cluster;
    batch->replies.resize(transactions.size());
    batch->transactions = std::move(transactions);
    batch->done = std::move(done);
    send_rest(batch);
}

/// Sends calls until the turn is over, and the others in later turns. After an exception, replies
/// may follow.
void TransportDatabase::send(const std::shared_ptr<Batch>& batch) {
    while (batch->sent < batch->transactions.size()) {
        if (turns_.is_over()) {
            turns_.push([this, batch] { send_rest(batch); });
            return;
        }
        auto next = batch->next_call();
        const auto slot = context_.slot_of_key(key_of(next.transaction, keys()));
        const auto script_call = call_of(next.transaction, keys());
        redis::Call call{&redis::transaction_script()};
        for (const auto& key : script_call.keys) {
            call.keys.add(key);
        }
        for (const auto& argument : script_call.arguments) {
            call.arguments.add(argument);
        }
        note_use(slot);
        auto reply = std::make_unique<BatchReply>(batch, std::move(next), slot, *this);
        ++batch->pending;
        context_.manage(slot, std::move(call), std::move(reply));
    }
    finish_one(batch);
}

void TransportDatabase::send_rest(const std::shared_ptr<Batch>& batch) noexcept {
    try {
        send(batch);
    } catch (const std::exception&) {
        batch->error = std::current_exception();
        attempt(context_.log(), [&] { finish_one(batch); });
    }
}

/// A call, or the sending, has ended.
void TransportDatabase::finish_one(const std::shared_ptr<Batch>& batch) {
    if (--batch->pending == 0) {
        turns_.push([batch] { batch->finish(); });
    }
}

bool TransportDatabase::defer(std::coroutine_handle<> task) {
    if (!turns_.is_over()) {
        return false;
    }
    turns_.push([task] { task.resume(); });
    return true;
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
    WorkerDeployment deployment(transport_, used);
    auto durability = co_await management::acknowledge_changes(*this, deployment);
    if (durability == management::Durability::kUndone) {
        transport_.search_masters();
    }
    // After ASK, another server has executed a call.
    const auto redirections = context_.statistics()["redirections"].value();
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
    wait.timer = context_.make_timer([&wait] {
        const auto waited = std::exchange(wait.done, nullptr);
        waited(std::vector<management::Replies>());
    });
    wait.timer->start(time);
}

std::chrono::milliseconds TransportDatabase::elapsed() const {
    return std::chrono::ceil<std::chrono::milliseconds>(context_.steady_time() - arrival_);
}

std::vector<const PlanTable*> TransportDatabase::tables() const {
    std::vector<const PlanTable*> found;
    for (const auto& served : context_.tables()) {
        if (served.redis == context_.settings().name_hash) {
            found.push_back(served.table);
        }
    }
    return found;
}

bool TransportDatabase::may_span(std::string_view key, std::string_view other) const {
    return !context_.settings().is_cluster || key == other;
}

}  // namespace tollgate::http
