#include "module/http/management/admin_tasks.hpp"

#include <exception>
#include <utility>

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

void AdminTasks::start(RedisTransport& transport, management::AdminRequest request,
                       Answered answered) {
    tasks_.remove_if([](const auto& task) { return task.is_done(); });
    auto& database = databases_.try_emplace(&transport, transport).first->second;
    tasks_.push_back(run(database, std::move(request), std::move(answered)));
    tasks_.back().start();
}

}  // namespace tollgate::http
