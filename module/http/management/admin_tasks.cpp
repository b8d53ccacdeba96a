#include "module/http/management/admin_tasks.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "module/http/management/transport_database.hpp"

namespace tollgate::http {

namespace {

constexpr std::size_t kMostUnderWay = 16;
/// More would wait longer than a client waits.
constexpr std::size_t kMostWaiting = 64;

}  // namespace

/// A request, and what it has executed.
struct AdminTasks::Running {
    explicit Running(RedisTransport& transport) : database(transport) {}

    TransportDatabase database;
    std::optional<management::Task<void>> task = std::nullopt;  ///< uses the database
};

AdminTasks::AdminTasks() = default;
AdminTasks::~AdminTasks() = default;

void AdminTasks::start(RedisTransport& transport, management::AdminRequest request,
                       std::shared_ptr<AdminClient> client) {
    Waiting waiting{transport, std::move(request), std::move(client)};
    if (under_way_ < kMostUnderWay) {
        begin(std::move(waiting));
        return;
    }
    if (waiting_.size() >= kMostWaiting) {
        std::erase_if(waiting_, [](const Waiting& other) { return !other.client->is_waiting(); });
    }
    if (waiting_.size() >= kMostWaiting) {
        waiting.client->on_response(management::too_many_operations());
        return;
    }
    if (next_ == nullptr) {
        next_ = transport.engine().make_timer([this] { begin_waiting(); });
    }
    waiting_.push_back(std::move(waiting));
}

/// Not within a task: a task that is done is destroyed here.
void AdminTasks::begin(Waiting waiting) {
    running_.remove_if(
        [](const Running& running) { return !running.task || running.task->is_done(); });
    Running& running = running_.emplace_back(waiting.transport);
    running.task = run(running, std::move(waiting));
    ++under_way_;
    running.task->start();
}

management::Task<void> AdminTasks::run(Running& running, Waiting begun) {
    TransportDatabase& database = running.database;
    management::AdminResponse response{.status = 500};
    try {
        response =
            co_await handle(database, database.keys(), database.tables(), std::move(begun.request));
    } catch (const std::exception&) {
        response = {.status = 500};
    }
    begun.client->on_response(std::move(response));
    --under_way_;
    if (!waiting_.empty()) {
        next_->post();
    }
}

void AdminTasks::begin_waiting() noexcept {
    while (under_way_ < kMostUnderWay && !waiting_.empty()) {
        Waiting waiting = std::move(waiting_.front());
        waiting_.pop_front();
        if (!waiting.client->is_waiting()) {
            continue;
        }
        gateway::Log& log = waiting.transport.engine().log();
        const auto client = waiting.client;
        if (!gateway::attempt(log, [&] { begin(std::move(waiting)); })) {
            client->on_response({.status = 500});
        }
    }
}

}  // namespace tollgate::http
