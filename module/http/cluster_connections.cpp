#include "module/http/cluster_connections.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "module/redis/io/numeric_address.hpp"
#include "module/redis/io/reported_address.hpp"
#include "module/redis/topology/cluster_slots.hpp"
#include "module/text/name_hash.hpp"

namespace tollgate::http {

namespace {

/// How long a server may take to answer CLUSTER SLOTS, from the beginning of the connection.
constexpr std::chrono::milliseconds kPatience{500};

redis::ServerAddress to_server(const redis::SocketAddress& address) {
    return redis::parse_server_address(address.name(), "").value_or(redis::ServerAddress{});
}

/// A hash tag of each slot. Found once for all slots: to find one takes thousands of attempts, and
/// a cluster may have hundreds of masters. Throws std::bad_alloc.
const std::vector<std::uint32_t>& slot_tags() {
    static const std::vector<std::uint32_t> all = [] {
        constexpr std::uint32_t kNone = UINT32_MAX;
        std::vector<std::uint32_t> tags(redis::kSlots, kNone);
        std::size_t missing = tags.size();
        for (std::uint32_t tag = 0; missing > 0; ++tag) {
            std::uint32_t& known = tags[redis::key_slot(std::to_string(tag))];
            if (known == kNone) {
                known = tag;
                --missing;
            }
        }
        return tags;
    }();
    return all;
}

}  // namespace

/// The connections to one server.
class ClusterConnections::Server final : public gateway::ClusterServer,
                                         private redis::AddressListener,
                                         private redis::ConnectionListener {
  public:
    Server(ClusterConnections& owner, const redis::ServerAddress& address, redis::Slot slot)
        : owner_(owner),
          address_(address),
          text_(to_text(address)),
          name_(name_hash(owner.conf_.endpoint.name + " " + text_)),
          addresses_(address, owner.conf_.endpoint.resolver,
                     "redis \"" + owner.conf_.endpoint.name + "\"", *this, owner.log_),
          connection_(owner.conf_.endpoint, addresses_.list(), owner.tls_, owner.probe_key(slot),
                      *this, owner.log_),
          management_(owner.conf_.endpoint, addresses_.list(), owner.tls_, owner.probe_key(slot),
                      *this, owner.log_) {
        owner_.open_.push_back(this);
        // The first attempt may have failed while the connection was made.
        owner_.count_breakers();
        if (addresses_.is_unresolvable()) {
            owner_.log_name(text_);
        }
    }
    ~Server() override {
        std::erase(owner_.open_, this);
        owner_.count_breakers();
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    bool is_reachable() const noexcept override { return connection_.is_reachable(); }
    void run(redis::Call call, std::unique_ptr<redis::ReplyHandler> handler) noexcept override {
        run_in_lane(connection_, management_, std::move(call), std::move(handler));
    }
    void refuse(std::string_view error) noexcept override { connection_.refuse(error); }
    std::uint32_t name() const noexcept override { return name_; }
    bool is_idle() const noexcept override {
        return connection_.is_idle() && management_.is_idle();
    }
    void poll() noexcept { connection_.poll(); }
    const redis::ServerAddress& address() const noexcept { return address_; }
    const redis::AddressList& addresses() const noexcept { return addresses_.list(); }
    bool is_breaker_open() const noexcept { return connection_.is_breaker_open(); }

  private:
    RedisStatistics& statistics() const { return owner_.engine_.statistics(); }

    void on_addresses() noexcept override {
        connection_.follow_addresses();
        management_.follow_addresses();
        owner_.report_masters();
    }

    void on_answer(std::chrono::microseconds round_trip) noexcept override {
        statistics().round_trips.note(round_trip);
    }
    void on_error() noexcept override { statistics()["errors"].add(); }
    void on_connected(bool is_first) noexcept override {
        if (!is_first) {
            statistics()["reconnects"].add();
        }
        owner_.listener_.on_cluster_connected();
    }
    void on_lost() noexcept override { addresses_.resolve_now(); }
    void on_refusal(std::string_view /*message*/) noexcept override { addresses_.resolve_now(); }
    void on_moved() noexcept override {}
    void on_time(ExactSteadyTime sent, ExactSteadyTime received,
                 ExactInstant time) noexcept override {
        owner_.engine_.zone().restart_clock(name_, sent, received, time);
    }
    void on_breaker_open(std::string_view reason) noexcept override {
        statistics()["breaker_opened"].add();
        owner_.count_breakers();
        if (set_unreachable(true)) {
            const redis::LogText shown(reason);
            ngx_str_t text = borrow(shown);
            ngx_log_error(NGX_LOG_ERR, owner_.log_, 0,
                          "tollgate: redis \"%s\": server %s is out of reach: %V",
                          owner_.conf_.endpoint.name.c_str(), text_.c_str(), &text);
        }
    }
    void on_breaker_close() noexcept override {
        owner_.count_breakers();
        if (set_unreachable(false)) {
            ngx_log_error(NGX_LOG_NOTICE, owner_.log_, 0,
                          "tollgate: redis \"%s\": server %s is back",
                          owner_.conf_.endpoint.name.c_str(), text_.c_str());
        }
        owner_.listener_.on_cluster_connected();
    }
    void on_shutdown() noexcept override { owner_.engine_.shut_down(); }

    /// Each worker has its own breaker; only the first one of the node that changes is logged.
    bool set_unreachable(bool is_unreachable) {
        gateway::Zone& zone = owner_.engine_.zone();
        gateway::SharedRedis& shared = zone.redis(name_);
        const gateway::LockedNode node(zone);
        return std::exchange(shared.is_unreachable, is_unreachable) != is_unreachable;
    }

    ClusterConnections& owner_;
    const redis::ServerAddress address_;
    const std::string text_;
    const std::uint32_t name_;
    redis::ReportedAddress addresses_;
    redis::Connection connection_;
    redis::ManagementConnection management_;
};

ClusterConnections::ClusterConnections(const RedisConf& conf, gateway::Engine& engine,
                                       RedisWorkers& workers, redis::TlsPeer* tls,
                                       ClusterListener& listener, ngx_log_t* log)
    : conf_(conf),
      engine_(engine),
      workers_(workers),
      tls_(tls),
      listener_(listener),
      log_(log),
      servers_(conf.endpoint.servers, conf.endpoint.resolver,
               "redis \"" + conf.endpoint.name + "\"", *this, log),
      answered_(redis::Event::calling<&ClusterConnections::deliver>(this, log)) {}

ClusterConnections::~ClusterConnections() = default;

/// This worker counts as one whose breaker is open while the breaker of any server is.
void ClusterConnections::count_breakers() const noexcept {
    const gateway::WorkerProcess& worker = engine_.worker();
    WorkerSet& open = workers_.breaker_open;
    if (std::ranges::any_of(open_, &Server::is_breaker_open)) {
        open.insert(worker.number(), worker.process());
    } else {
        open.erase(worker.number(), worker.process());
    }
}

void ClusterConnections::poll() noexcept {
    // A reply may open another connection, and closes none.
    for (Server* server : std::vector(open_)) {
        server->poll();
    }
}

std::string ClusterConnections::probe_key(redis::Slot slot) const {
    return conf_.settings.keys.probe() + ":{" + std::to_string(slot_tags()[slot]) + "}";
}

std::vector<redis::ServerAddress> ClusterConnections::configured() const {
    std::vector<redis::ServerAddress> servers;
    std::ranges::transform(servers_.list().all(), std::back_inserter(servers), to_server);
    return servers;
}

std::unique_ptr<gateway::ClusterServer> ClusterConnections::connect(
    const redis::ServerAddress& address, redis::Slot slot) {
    return std::make_unique<Server>(*this, address, slot);
}

void ClusterConnections::read_slot_map(const redis::ServerAddress& address,
                                       gateway::SlotMapReader& reader) {
    answered_.cancel();
    query_.reset();
    map_.reset();
    asked_ = address;
    redis::QueryOwner& owner = *this;
    query_ = std::make_unique<redis::Query>(conf_.endpoint, addresses_of(address), tls_,
                                            std::vector{redis::Words{"CLUSTER", "SLOTS"}},
                                            kPatience, owner, log_, redis::kClusterSlotsLimits);
    reader_ = &reader;
}

void ClusterConnections::on_reply(const redisReply& reply) noexcept {
    redis::ClusterSlots slots;
    gateway::attempt(engine_.log(), [&] { slots = redis::read_cluster_slots(reply, asked_.host); });
    map_ = std::move(slots.map);
    if (!map_) {
        log_problem(reply.type == REDIS_REPLY_ERROR ? redis::text_of(reply) : slots.error);
    }
    answered_.post();
}

void ClusterConnections::on_no_reply(std::string_view reason) noexcept {
    log_problem(reason);
    answered_.post();
}

/// Not within the query's callback: the reader may ask another server, which replaces the query.
void ClusterConnections::deliver() noexcept {
    query_.reset();
    gateway::SlotMapReader* reader = std::exchange(reader_, nullptr);
    if (map_) {
        reader->on_slot_map(std::move(*map_));
    } else {
        reader->on_no_slot_map();
    }
}

void ClusterConnections::log_problem(std::string_view problem) noexcept {
    if (problems_.admit(redis::LogThrottle::Time(engine_.clock().steady()))) {
        const redis::LogText shown(problem);
        ngx_str_t text = borrow(shown);
        gateway::attempt(engine_.log(), [&] {
            ngx_log_error(NGX_LOG_WARN, log_, 0,
                          "tollgate: redis \"%s\": no slot map from server %s: %V",
                          conf_.endpoint.name.c_str(), to_text(asked_).c_str(), &text);
        });
    }
}

redis::AddressList ClusterConnections::addresses_of(const redis::ServerAddress& server) const {
    const auto place = std::ranges::find(open_, server, &Server::address);
    if (place != open_.end()) {
        return (*place)->addresses();
    }
    auto address = redis::numeric_address(server);
    return address ? redis::AddressList({std::move(*address)}) : redis::AddressList();
}

void ClusterConnections::on_masters(std::span<const redis::ServerAddress> masters) noexcept {
    gateway::attempt(engine_.log(), [&] { masters_.assign(masters.begin(), masters.end()); });
    report_masters();
}

/// The addresses of the masters, as far as their names are resolved.
void ClusterConnections::report_masters() noexcept {
    gateway::attempt(engine_.log(), [&] {
        std::vector<redis::SocketAddress> addresses;
        for (const redis::ServerAddress& master : masters_) {
            const redis::AddressList found = addresses_of(master);
            addresses.insert(addresses.end(), found.all().begin(), found.all().end());
        }
        listener_.on_cluster_masters(std::move(addresses));
    });
}

/// All servers of a cluster are reported in the same way: one line is enough.
void ClusterConnections::log_name(const std::string& server) noexcept {
    if (!std::exchange(is_name_logged_, true)) {
        ngx_log_error(NGX_LOG_ERR, log_, 0,
                      "tollgate: redis \"%s\": the cluster reports the server %s by its host name, "
                      "and there is no \"resolver\": servers with names are not reachable",
                      conf_.endpoint.name.c_str(), server.c_str());
    }
}

void ClusterConnections::on_redirection() noexcept {
    engine_.statistics()["redirections"].add();
}

}  // namespace tollgate::http
