#include "module/http/management/admin_tasks.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "module/http/management/transport_database.hpp"

namespace tollgate::http {

namespace {

management::Task<void> run(TransportDatabase& database, management::AdminRequest request,
                           AdminTasks::Answered answered) {
    management::AdminResponse response{.status = 500};
    try {
        response =
            co_await handle(database, database.keys(), database.tables(), std::move(request));
    } catch (const std::exception&) {
        response = {.status = 500};
    }
    answered(std::move(response));
}

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
                       Answered answered) {
    running_.remove_if(
        [](const Running& running) { return !running.task || running.task->is_done(); });
    Running& running = running_.emplace_back(transport);
    running.task = run(running.database, std::move(request), std::move(answered));
    running.task->start();
}

}  // namespace tollgate::http
