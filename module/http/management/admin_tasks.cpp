#include "module/http/management/admin_tasks.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "module/http/management/transport_database.hpp"

namespace tollgate::http {

namespace {

constexpr std::size_t kMostUnderWay = 16;
/// Of these. A key that must end does not wait for many searches.
constexpr std::size_t kMostReadsUnderWay = 12;
/// More would wait longer than a client waits. Reads and changes are counted apart.
constexpr std::size_t kMostWaiting = 32;
/// Beside requests: see TurnPace. Reads are more, and Redis takes longer for their calls.
constexpr int kPartOfReads = 200;
constexpr int kPartOfChanges = 50;

}  // namespace

/// A request, and what it has executed.
struct AdminTasks::Running {
    Running(RedisClient& transport, OperationTurns& turns, SteadyTime arrival)
        : database(transport, turns, arrival) {}

    TransportDatabase database;
    std::optional<management::Task<void>> task = std::nullopt;  ///< uses the database
};

AdminTasks::AdminTasks(ngx_log_t* log)
    : reads_{.turns{requests_, kPartOfReads, log}},
      changes_{.turns{requests_, kPartOfChanges, log}} {}

AdminTasks::~AdminTasks() = default;

void AdminTasks::start(RedisClient& transport, management::AdminRequest request, SteadyTime arrival,
                       std::shared_ptr<AdminClient> client) {
    Waiting waiting{transport, std::move(request), arrival, std::move(client)};
    Kind& kind = kind_of(waiting.request);
    if (may_begin(kind)) {
        begin(std::move(waiting));
        return;
    }
    if (kind.waiting.size() >= kMostWaiting) {
        std::erase_if(kind.waiting,
                      [](const Waiting& other) { return !other.client->is_waiting(); });
    }
    if (kind.waiting.size() >= kMostWaiting) {
        waiting.client->on_response(management::too_many_operations());
        return;
    }
    if (next_ == nullptr) {
        next_ = transport.engine().make_timer([this] { begin_waiting(); });
    }
    kind.waiting.push_back(std::move(waiting));
}

AdminTasks::Kind& AdminTasks::kind_of(const management::AdminRequest& request) {
    return management::is_read(request.method, request.path) ? reads_ : changes_;
}

bool AdminTasks::may_begin(const Kind& kind) const {
    return reads_.under_way + changes_.under_way < kMostUnderWay &&
           (&kind == &changes_ || reads_.under_way < kMostReadsUnderWay);
}

/// Not within a task: a task that is done is destroyed here.
void AdminTasks::begin(Waiting waiting) {
    running_.remove_if(
        [](const Running& running) { return !running.task || running.task->is_done(); });
    Kind& kind = kind_of(waiting.request);
    Running& running = running_.emplace_back(waiting.transport, kind.turns, waiting.arrival);
    ++kind.under_way;
    running.task = run(running, std::move(waiting));
    running.task->start();
}

management::Task<void> AdminTasks::run(Running& running, Waiting begun) {
    TransportDatabase& database = running.database;
    Kind& kind = kind_of(begun.request);
    management::AdminResponse response{.status = 500};
    try {
        response =
            co_await handle(database, database.keys(), database.tables(), std::move(begun.request));
    } catch (const std::exception&) {
        response = {.status = 500};
    }
    begun.client->on_response(std::move(response));
    --kind.under_way;
    if (!changes_.waiting.empty() || !reads_.waiting.empty()) {
        next_->post();
    }
}

void AdminTasks::shut_down() noexcept {
    reads_.turns.shut_down();
    changes_.turns.shut_down();
}

void AdminTasks::begin_waiting() noexcept {
    for (Kind* const kind : {&changes_, &reads_}) {
        while (may_begin(*kind) && !kind->waiting.empty()) {
            Waiting waiting = std::move(kind->waiting.front());
            kind->waiting.pop_front();
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
}

}  // namespace tollgate::http
