#include "module/http/management/admin_tasks.hpp"

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "module/http/management/transport_database.hpp"
#include "module/management/admin/read_database.hpp"

namespace tollgate::http {

namespace {

/// Beside requests: see TurnPace. Lists are more, and Redis takes longer for their calls.
constexpr int kPartOfLists = 200;
constexpr int kPartOfOthers = 50;

}  // namespace

/// A request, and what it has executed.
struct AdminTasks::Running {
    Running(RedisClient& transport, KeyRights::Key key, OperationTurns& turns, SteadyTime arrival)
        : database(transport, turns, arrival), rights(std::move(key), turns) {}

    TransportDatabase database;
    KeyRights rights;
    std::optional<management::ReadDatabase> reads = std::nullopt;  ///< uses the database
    std::optional<management::Task<void>> task = std::nullopt;     ///< uses all of these
};

AdminTasks::AdminTasks(ngx_log_t* log)
    : turns_of_lists_(requests_, kPartOfLists, log),
      turns_(requests_, kPartOfOthers, log),
      lanes_{{{Queue(room_of(management::Lane::kLists)), turns_of_lists_},
              {Queue(room_of(management::Lane::kReads)), turns_},
              {Queue(room_of(management::Lane::kChanges)), turns_},
              {Queue(room_of(management::Lane::kEndings)), turns_},
              {Queue(room_of(management::Lane::kBatches)), turns_}}} {}

AdminTasks::~AdminTasks() = default;

void AdminTasks::start(Admitted admitted, const std::shared_ptr<AdminClient>& client) {
    if (next_ == nullptr) {
        next_ = admitted.transport.context().make_timer([this] { begin_waiting(); });
    }
    Queue& queue = lane_of(admitted.request).queue;
    const std::string caller = admitted.request.actor;
    Waiting waiting{std::move(admitted), client};
    bool is_queued = queue.push(caller, waiting);
    if (!is_queued) {
        queue.remove_if([](const Waiting& other) { return !other.client->is_waiting(); });
        is_queued = queue.push(caller, waiting);
    }
    if (is_queued) {
        begin_waiting();
    } else {
        client->on_response(management::too_many_operations());
    }
}

AdminTasks::Lane& AdminTasks::lane_of(const management::AdminRequest& request) {
    return lanes_[static_cast<std::size_t>(management::lane_of(request))];
}

/// Not within a task: a task that is done is destroyed here.
void AdminTasks::begin(Lane& lane, Waiting waiting) {
    running_.remove_if(
        [](const Running& running) { return !running.task || running.task->is_done(); });
    Admitted& admitted = waiting.admitted;
    Running& running = running_.emplace_back(admitted.transport, std::move(admitted.key),
                                             lane.turns, admitted.arrival);
    running.task = run(running, lane, std::move(waiting));
    running.task->start();
}

management::Task<void> AdminTasks::run(Running& running, Lane& lane, Waiting begun) {
    TransportDatabase& transport = running.database;
    management::Database* database = &transport;
    management::AdminRequest& request = begun.admitted.request;
    const std::string caller = request.actor;
    management::AdminResponse response{.status = 500};
    try {
        if (is_read(request.method, request.path)) {
            database = &running.reads.emplace(
                transport, [client = begun.client] { return client->is_waiting(); });
        }
        response = co_await handle(*database, transport.keys(), transport.tables(), running.rights,
                                   std::move(request));
    } catch (const std::exception&) {
        response = {.status = 500};
    }
    if (response.is_refusal) {
        begun.client->on_refusal(running.rights.outcome());
    } else {
        begun.client->on_response(std::move(response));
    }
    lane.queue.leave(caller);
    if (lane.queue.has_waiting()) {
        next_->post();
    }
}

void AdminTasks::shut_down() noexcept {
    turns_of_lists_.shut_down();
    turns_.shut_down();
}

void AdminTasks::begin_waiting() noexcept {
    for (Lane& lane : lanes_) {
        while (auto waiting = lane.queue.take()) {
            const std::string& actor = waiting->admitted.request.actor;
            const auto client = waiting->client;
            Log& log = waiting->admitted.transport.context().log();
            std::string caller;
            const auto begin_it = [&] {
                caller = actor;
                begin(lane, std::move(*waiting));
            };
            if (!client->is_waiting()) {
                lane.queue.leave(actor);
            } else if (!attempt(log, begin_it)) {
                // Without the copy, the request was not moved.
                lane.queue.leave(caller.empty() ? actor : caller);
                client->on_response({.status = 500});
            }
        }
    }
}

}  // namespace tollgate::http
