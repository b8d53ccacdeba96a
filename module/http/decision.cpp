#include "module/http/decision.hpp"

#include <algorithm>

#include "module/core/api_key.hpp"
#include "module/core/bearer.hpp"
#include "module/core/parse_error.hpp"
#include "module/http/authorization.hpp"
#include "module/http/zone.hpp"
#include "module/redis/key_lookup.hpp"
#include "module/redis/reply.hpp"

namespace tollgate::http {

namespace {

/// A request that Redis is too late for may come back this soon, in seconds.
constexpr std::int64_t kRetryUnavailable = 1;

ClientAddress address_of(const ngx_http_request_t* r) {
    const sockaddr* address = r->connection->sockaddr;
    if (address->sa_family == AF_INET) {
        const auto& ip = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
        return client_address({reinterpret_cast<const unsigned char*>(&ip), sizeof(ip)});
    }
    if (address->sa_family == AF_INET6) {
        const auto& ip = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
        return client_address({reinterpret_cast<const unsigned char*>(&ip), sizeof(ip)});
    }
    return {};
}

}  // namespace

/// Waits for a reply on behalf of a decision, which may be gone before it comes.
template <void (Decision::*OnReply)(const redisReply&)>
class Decision::Waiter : public redis::ReplyHandler {
  public:
    explicit Waiter(Decision& decision) : decision_(&decision) {}

    void on_reply(const redisReply& reply) noexcept override {
        resume([&](Decision& decision) { (decision.*OnReply)(reply); });
    }
    void on_failure() noexcept override {
        resume([](Decision& decision) { decision.unavailable(); });
    }
    static void detach(redis::ReplyHandler& waiter) {
        static_cast<Waiter&>(waiter).decision_ = nullptr;
    }

  private:
    template <typename Step>
    void resume(Step step) noexcept {
        Decision* decision = std::exchange(decision_, nullptr);
        if (decision == nullptr) {
            return;
        }
        decision->waiter_ = nullptr;
        const bool done = guarded(decision->r_->connection->log, false, [&] {
            step(*decision);
            return true;
        });
        if (!done) {
            decision->unavailable();
        }
    }

    Decision* decision_;
};

Instant node_time() {
    const ngx_time_t* now = ngx_timeofday();
    return Instant(std::chrono::seconds(now->sec) + std::chrono::milliseconds(now->msec));
}

std::vector<WindowState> charge_anonymous(ngx_http_request_t* r, const TableSet& tables,
                                          std::int64_t cost, Instant now) {
    const PlanTable* table = tables.anonymous();
    return table == nullptr ? std::vector<WindowState>()
                            : charge_address(MainConf::of(r), *table, address_of(r), cost, now);
}

Decision* Decision::find(const ngx_http_request_t* r) {
    auto* decision =
        static_cast<Decision*>(ngx_http_get_module_ctx(r->main, ngx_http_tollgate_module));
    return decision != nullptr ? decision : find_pooled<Decision>(r->main->pool);
}

Decision& Decision::make(ngx_http_request_t* r, const LocationConf& conf) {
    ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(r, 0);
    if (cleanup == nullptr) {
        throw std::bad_alloc();
    }
    auto* decision = make_pooled<Decision>(r->pool, r, conf);
    // Run when the request is terminated: before its pool is destroyed, which may be long after.
    cleanup->handler = [](void* data) { static_cast<Decision*>(data)->abandon(); };
    cleanup->data = decision;
    ngx_http_set_ctx(r, decision, ngx_http_tollgate_module);
    return *decision;
}

Decision::Decision(ngx_http_request_t* r, const LocationConf& conf) : r_(r), conf_(conf) {}

Decision::~Decision() {
    abandon();
}

void Decision::abandon() noexcept {
    if (waiter_ != nullptr) {
        detach_(*waiter_);
        waiter_ = nullptr;
    }
}

void Decision::time_out() {
    abandon();
    started_ = false;
    unavailable();
}

void Decision::bypass() {
    grant(Verdict::kBypassed);
}

void Decision::start() {
    authenticate();
    started_ = true;
}

void Decision::authenticate() {
    const auto field = authorization_of(r_);
    const Credentials credentials = parse_bearer(field.value_or(""));
    switch (credentials.kind) {
        case Credentials::Kind::kMissing:
            unauthenticated(kMissingApiKey);
            return;
        case Credentials::Kind::kMalformed:
            key_was_sent_ = true;
            unauthenticated(kInvalidApiKey);
            return;
        case Credentials::Kind::kToken:
            key_was_sent_ = true;
            if (has_valid_checksum(credentials.token)) {
                look_up(credentials.token);
            } else {
                unauthenticated(kInvalidApiKey);
            }
            return;
    }
}

void Decision::look_up(std::string_view token) {
    const KeyDigest digest = digest_of(token);
    send<&Decision::take_lookup>(
        redis::lookup_command(conf_.tables->redis().keys.key(tollgate::view(digest))));
}

void Decision::take_lookup(const redisReply& reply) {
    using Outcome = redis::Lookup::Outcome;
    auto lookup = redis::read_lookup(reply);
    if (lookup.outcome == Outcome::kUnexpected) {
        take_refusal_of_redis(reply);
        return;
    }
    if (lookup.outcome == Outcome::kMalformed) {
        ngx_log_error(NGX_LOG_ERR, r_->connection->log, 0,
                      "tollgate: malformed record of a key in Redis");
    }
    const auto now = std::chrono::floor<std::chrono::seconds>(node_time());
    if (lookup.outcome != Outcome::kFound || !lookup.record.is_valid_at(now)) {
        unauthenticated(kInvalidApiKey);
        return;
    }
    key_ = std::move(lookup.record);
    choose_plans();
}

void Decision::choose_plans() {
    acquire_.id = key_.id;
    acquire_.strikes = !conf_.dry_run;
    acquire_.cost = conf_.cost_of(r_);
    for (const TableConf* table : conf_.tables->tables) {
        if (!add_quota(*table)) {
            settle(Verdict::kForbidden, NGX_HTTP_FORBIDDEN, kPlanNotAllowed);
            return;
        }
        if (!acquire_.ban) {
            acquire_.ban = table->table.ban;
        }
    }
    if (acquire_.quotas.empty()) {
        grant(Verdict::kGranted);
        return;
    }
    acquire();
}

/// Adds what the key may do in this table. False where its plan has no place there.
bool Decision::add_quota(const TableConf& conf) {
    const PlanTable& table = conf.table;
    const Plan* plan = table.find(key_.plan);
    if (plan == nullptr) {
        return false;
    }
    redis::TableQuota quota{table.name, plan->rates, plan->sliding};
    if (plan->kind == Plan::Kind::kUnlimited) {
        return true;
    }
    if (plan->kind == Plan::Kind::kCustom) {
        try {
            quota.rates = parse_rates(key_.limits);
        } catch (const ParseError& e) {
            ngx_str_t id = borrow(key_.id);
            ngx_log_error(NGX_LOG_ERR, r_->connection->log, 0, "tollgate: limits of key \"%V\": %s",
                          &id, e.what());
            return false;
        }
    }
    // Where several tables have a plan of one name, the table's tells their policies apart.
    const std::string prefix = conf_.tables->tables.size() > 1 ? table.name + "-" : "";
    for (const Rate& rate : quota.rates) {
        policies_.push_back(prefix + plan->name + "-" + period_name(rate.period));
    }
    acquire_.quotas.push_back(std::move(quota));
    return true;
}

void Decision::acquire() {
    auto command =
        redis::acquire_command(acquire_, conf_.tables->redis().keys, MainConf::of(r_).script_sha1);
    if (evaluated_in_full_) {
        redis::evaluate_in_full(command);
    }
    send<&Decision::take_acquired>(command);
}

void Decision::take_acquired(const redisReply& reply) {
    if (reply.type == REDIS_REPLY_ERROR && redis::text_of(reply).starts_with("NOSCRIPT") &&
        !evaluated_in_full_) {
        evaluated_in_full_ = true;
        acquire();
        return;
    }
    auto acquired = redis::read_acquired(reply, acquire_);
    if (!acquired) {
        take_refusal_of_redis(reply);
        return;
    }
    using Outcome = redis::Acquired::Outcome;
    show_windows(std::move(acquired->windows), acquired->now);
    switch (acquired->outcome) {
        case Outcome::kGranted:
            grant(Verdict::kGranted);
            return;
        case Outcome::kLimited:
            retry_after_ = tollgate::retry_after(now_, binding_->reset);
            settle(Verdict::kLimited, NGX_HTTP_TOO_MANY_REQUESTS, kRateLimitExceeded);
            return;
        case Outcome::kBanned:
            retry_after_ = tollgate::retry_after(now_, acquired->banned_until);
            settle(Verdict::kBanned, NGX_HTTP_TOO_MANY_REQUESTS, kApiKeyBanned);
            return;
    }
}

/// Redis answered with an error, or with what can't be an answer.
void Decision::take_refusal_of_redis(const redisReply& reply) {
    const auto text = reply.type == REDIS_REPLY_ERROR ? redis::text_of(reply) : "unexpected reply";
    ngx_str_t printed = borrow(text);
    ngx_log_error(NGX_LOG_ERR, r_->connection->log, 0, "tollgate: redis: %V", &printed);
    if (text.starts_with("READONLY") || text.starts_with("NOAUTH")) {
        conf_.tables->redis().connection->renew();
    }
    unavailable();
}

void Decision::show_windows(std::vector<WindowState> states, Instant now) {
    if (const WindowState* binding = binding_window(states)) {
        binding_ = *binding;
    }
    now_ = now;
    policies_.resize(states.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
        windows_.push_back({std::move(policies_[i]), states[i]});
    }
}

void Decision::unauthenticated(const Error& error) {
    const Instant now = node_time();
    auto states = charge_anonymous(r_, *conf_.tables, 1, now);
    policies_.clear();
    for (const WindowState& state : states) {
        policies_.push_back("anonymous-" + period_name(state.rate.period));
    }
    const bool exhausted = std::ranges::any_of(states, &WindowState::exhausted);
    show_windows(std::move(states), now);
    if (exhausted) {
        retry_after_ = tollgate::retry_after(now_, binding_->reset);
        settle(Verdict::kLimited, NGX_HTTP_TOO_MANY_REQUESTS, kRateLimitExceeded);
    } else {
        settle(Verdict::kUnauthenticated, NGX_HTTP_UNAUTHORIZED, error);
    }
}

void Decision::unavailable() {
    if (conf_.tables->redis().on_failure == FailurePolicy::kAllow && !key_.id.empty()) {
        grant(Verdict::kDegraded);
        return;
    }
    retry_after_ = kRetryUnavailable;
    settle(Verdict::kUnavailable, NGX_HTTP_SERVICE_UNAVAILABLE, kServiceUnavailable);
}

void Decision::settle(Verdict verdict, ngx_int_t status, const Error& error) {
    verdict_ = verdict;
    status_ = status;
    error_ = error;
    if (status != 0) {
        log_refusal();
    }
    if (started_) {
        // Not run from here, inside of the reader of replies: it may end, and take other requests
        // with it.
        ngx_post_event(r_->connection->write, &ngx_posted_events);
    }
}

void Decision::log_refusal() {
    ngx_str_t code = borrow(error_.code);
    ngx_str_t id = borrow(key_.id);
    ngx_str_t plan = borrow(key_.plan);
    ngx_log_error(conf_.log_level, r_->connection->log, 0,
                  "tollgate refuses the request%s: %V, key \"%V\", plan \"%V\"",
                  conf_.dry_run ? ", dry run" : "", &code, &id, &plan);
}

template <void (Decision::*OnReply)(const redisReply&)>
void Decision::send(const std::vector<std::string>& command) {
    auto waiter = std::make_unique<Waiter<OnReply>>(*this);
    auto* borrowed = waiter.get();
    auto& connection = conf_.tables->redis().connection;
    if (!connection || !connection->send(command, std::move(waiter))) {
        unavailable();
        return;
    }
    waiter_ = borrowed;
    detach_ = &Waiter<OnReply>::detach;
}

}  // namespace tollgate::http
