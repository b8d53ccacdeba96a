#include "module/http/redis/cluster_client.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "module/http/redis/cluster_server.hpp"
#include "module/redis/io/socket_address.hpp"
#include "module/redis/protocol/log_text.hpp"
#include "module/redis/topology/cluster_slots.hpp"
#include "module/text/name_hash.hpp"

namespace tollgate::http {

namespace {

/// How long a server may take to answer CLUSTER SLOTS, from the beginning of the connection.
constexpr std::chrono::milliseconds kSlotMapTimeout{500};

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

/// Names a set of masters, which servers list in any order.
std::uint32_t name_of_masters(std::span<const redis::ServerAddress> masters) {
    std::uint32_t name = 0;
    for (const redis::ServerAddress& master : masters) {
        name += name_hash(to_text(master));
    }
    return name;
}

}  // namespace

ClusterClient::ClusterClient(const RedisConf& conf, std::span<const ServedTable> tables, Zone& zone,
                             TlsSessionZone* sessions, const RedisCounts& counts,
                             const Environment& environment, ngx_log_t* log)
    : conf_(conf),
      workers_(counts.workers),
      log_(log),
      engine_(conf.settings, tables, zone, counts.own, router_, environment),
      tls_(conf.link.tls.get(), sessions, counts.own),
      servers_(conf.link.servers, conf.link.resolver, "redis \"" + conf.link.name + "\"", *this,
               log),
      answered_(redis::Event::calling<&ClusterClient::deliver>(this, log)),
      router_(conf.settings.name_hash, conf.settings.timeout, *this, environment,
              static_cast<std::uint32_t>(ngx_random())),
      feed_(access(), publishers_, engine_, counts.workers) {}

ClusterClient::~ClusterClient() = default;

void ClusterClient::poll() noexcept {
    // A reply may open another connection, which moves the list, and closes none.
    const std::size_t count = open_.size();
    for (std::size_t i = 0; i < count; ++i) {
        open_[i]->poll();
    }
}

void ClusterClient::describe(Status::Redis& redis) const {
    const redis::SlotMap& map = router_.map();
    redis.masters.resize(map.masters().size());
    for (redis::Slot slot = 0; slot < redis::kSlots; ++slot) {
        if (const auto index = map.master_of(slot)) {
            Status::Master& master = redis.masters[*index];
            if (master.slots++ == 0) {
                master.is_reachable = router_.is_reachable(slot);
            }
        }
    }
    for (std::size_t i = 0; i < redis.masters.size(); ++i) {
        redis.masters[i].address = to_text(map.masters()[i]);
    }
    // After MOVED, a master may be left without slots until the next map.
    std::erase_if(redis.masters, [](const Status::Master& master) { return master.slots == 0; });
    if (const auto age = router_.map_age()) {
        redis.map_age = std::chrono::floor<std::chrono::seconds>(*age);
    }
}

std::optional<redis::Server> ClusterClient::master_of(redis::Slot slot) const {
    const redis::SlotMap& map = router_.map();
    const auto index = map.master_of(slot);
    if (!index) {
        return std::nullopt;
    }
    const redis::ServerAddress& master = map.masters()[*index];
    return redis::Server{.name = master, .addresses = addresses_of(master)};
}

std::string ClusterClient::probe_key(redis::Slot slot) const {
    return conf_.settings.keys.probe() + ":{" + std::to_string(slot_tags()[slot]) + "}";
}

std::optional<Electorate> ClusterClient::electorate() {
    Electorate all{.access = access(), .servers = {}, .master_name = {}};
    for (const redis::ServerAddress& master : router_.map().masters()) {
        all.servers.push_back({.name = master, .addresses = addresses_of(master)});
    }
    return all;
}

std::vector<redis::ServerAddress> ClusterClient::configured() const {
    std::vector<redis::ServerAddress> servers;
    std::ranges::transform(servers_.list(), std::back_inserter(servers), to_server);
    return servers;
}

std::unique_ptr<redis::ClusterServer> ClusterClient::connect(const redis::ServerAddress& address,
                                                             redis::Slot slot) {
    return std::make_unique<Server>(*this, address, slot);
}

void ClusterClient::read_slot_map(const redis::ServerAddress& address,
                                  redis::SlotMapReader& reader) {
    answered_.cancel();
    query_.reset();
    map_.reset();
    asked_ = address;
    redis::QueryOwner& owner = *this;
    query_ = std::make_unique<redis::Query>(access(), addresses_of(address),
                                            std::vector{redis::Words{"CLUSTER", "SLOTS"}},
                                            kSlotMapTimeout, owner, redis::kClusterSlotsLimits);
    reader_ = &reader;
}

void ClusterClient::on_reply(const redisReply& reply) noexcept {
    redis::ClusterSlots slots;
    attempt(engine_.log(), [&] { slots = redis::read_cluster_slots(reply, asked_.host); });
    map_ = std::move(slots.map);
    if (!map_) {
        log_problem(reply.type == REDIS_REPLY_ERROR ? redis::text_of(reply) : slots.error);
    }
    answered_.post();
}

void ClusterClient::on_no_reply(std::string_view reason) noexcept {
    log_problem(reason);
    answered_.post();
}

/// Not within the query's callback: the reader may ask another server, which replaces the query.
void ClusterClient::deliver() noexcept {
    query_.reset();
    redis::SlotMapReader* reader = std::exchange(reader_, nullptr);
    if (map_) {
        reader->on_slot_map(std::move(*map_));
    } else {
        reader->on_no_slot_map();
    }
}

/// The addresses of a server that is connected to, or that has an IP address.
redis::SocketAddresses ClusterClient::addresses_of(const redis::ServerAddress& server) const {
    const auto place = std::ranges::find(open_, server, &Server::address);
    if (place != open_.end()) {
        return (*place)->addresses();
    }
    return redis::numeric_address(server);
}

/// Subscribes at one of them, as far as their names are resolved. Each publishes the messages of
/// all.
void ClusterClient::on_masters(std::span<const redis::ServerAddress> masters) noexcept {
    attempt(engine_.log(), [&] {
        redis::SocketAddresses addresses;
        for (const redis::ServerAddress& master : masters) {
            const redis::SocketAddresses found = addresses_of(master);
            addresses.insert(addresses.end(), found.begin(), found.end());
        }
        if (addresses.empty()) {
            return;
        }
        const bool is_new = !std::ranges::all_of(
            addresses,
            [&](const redis::SocketAddress& address) { return contains(publishers_, address); });
        const bool was_known = !publishers_.empty();
        // Workers begin with different masters: the loss of one does not end all subscriptions.
        const std::size_t first = engine_.worker().number() % addresses.size();
        std::rotate(addresses.begin(), addresses.begin() + static_cast<std::ptrdiff_t>(first),
                    addresses.end());
        publishers_ = std::move(addresses);
        feed_.follow_addresses();
        if (is_new && was_known) {
            engine_.identity().changes.on_moved(name_of_masters(masters));
        }
    });
}

/// This worker counts as one whose breaker is open while the breaker of any server is.
void ClusterClient::count_breakers() const noexcept {
    const WorkerProcess& worker = engine_.worker();
    WorkerSet& open = workers_.breaker_open;
    if (std::ranges::any_of(open_, &Server::is_breaker_open)) {
        open.insert(worker.number(), worker.process());
    } else {
        open.erase(worker.number(), worker.process());
    }
}

/// All servers of a cluster are reported in the same way: one line is enough.
void ClusterClient::log_name(const std::string& server) noexcept {
    if (!std::exchange(is_name_logged_, true)) {
        ngx_log_error(NGX_LOG_ERR, log_, 0,
                      "tollgate: redis \"%s\": the cluster reports the server %s by its host name, "
                      "and there is no \"resolver\": servers with names are unreachable",
                      conf_.link.name.c_str(), server.c_str());
    }
}

void ClusterClient::log_problem(std::string_view problem) noexcept {
    if (problems_.admit(redis::LogThrottle::Time(engine_.clock().steady()))) {
        const redis::LogText shown(problem);
        ngx_str_t text = borrow(shown);
        attempt(engine_.log(), [&] {
            ngx_log_error(NGX_LOG_WARN, log_, 0,
                          "tollgate: redis \"%s\": no slot map from server %s: %V",
                          conf_.link.name.c_str(), to_text(asked_).c_str(), &text);
        });
    }
}

}  // namespace tollgate::http
