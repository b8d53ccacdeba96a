#include "module/http/decision.hpp"

#include <algorithm>

#include "module/core/api_key.hpp"
#include "module/core/bearer.hpp"
#include "module/core/parse_error.hpp"
#include "module/http/anonymous_budget.hpp"
#include "module/http/authorization.hpp"
#include "module/http/zone.hpp"
#include "module/redis/key_lookup.hpp"
#include "module/redis/reply.hpp"

namespace tollgate::http {

namespace {

/// A request that Redis is too late for may come back this soon, in seconds.
constexpr std::int64_t kRetryUnavailable = 1;

bool is_valid_now(const KeyRecord& record) {
    return record.is_valid_at(std::chrono::floor<std::chrono::seconds>(node_time()));
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

void Decision::forbid() {
    settle(Verdict::kForbidden, NGX_HTTP_FORBIDDEN, kPlanNotAllowed);
}

bool Decision::has_place_in(const TableSet& tables) const {
    return tables.redis == conf_.tables->redis &&
           std::ranges::all_of(tables.tables, [&](const PlanTable* table) {
               return table->find(key_.plan) != nullptr;
           });
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
    const RedisConf& redis = *conf_.tables->redis;
    sought_ = {name_id(redis.endpoint.name), digest_of(token)};
    send<&Decision::take_lookup>(
        redis::lookup_command(redis.keys.key(tollgate::view(sought_.digest))));
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
    const bool good = lookup.outcome == Outcome::kFound && is_valid_now(lookup.record);
    if (conf_.tables->redis->on_failure == FailurePolicy::kAllow) {
        if (good) {
            remember_key(MainConf::of(r_), sought_, lookup.record, node_time());
        } else {
            forget_key(MainConf::of(r_), sought_);
        }
    }
    if (!good) {
        unauthenticated(kInvalidApiKey);
        return;
    }
    key_ = std::move(lookup.record);
    choose_plans();
}

void Decision::choose_plans() {
    std::optional<std::vector<TableQuota>> quotas;
    try {
        quotas = choose_quotas(conf_.tables->tables, key_);
    } catch (const ParseError& e) {
        ngx_str_t id = borrow(key_.id);
        ngx_log_error(NGX_LOG_ERR, r_->connection->log, 0, "tollgate: limits of key \"%V\": %s",
                      &id, e.what());
    }
    if (!quotas) {
        forbid();
        return;
    }
    if (quotas->empty()) {
        grant(Verdict::kGranted);
        return;
    }
    const auto bans = std::ranges::find_if(conf_.tables->tables,
                                           [](const PlanTable* t) { return t->ban.has_value(); });
    // What was refused before it came to Tollgate is here for the operator's page alone: that is
    // free.
    const bool for_error_page = r_->err_status >= NGX_HTTP_BAD_REQUEST;
    acquire_ = {.id = key_.id,
                .quotas = std::move(*quotas),
                .cost = for_error_page ? 0 : conf_.cost_of(r_),
                .ban = bans == conf_.tables->tables.end() ? std::nullopt : (*bans)->ban,
                .strikes = conf_.dry_run == 0};
    acquire();
}

void Decision::acquire() {
    auto command =
        redis::acquire_command(acquire_, conf_.tables->redis->keys, MainConf::of(r_).script_sha1);
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
            retry_after_ = tollgate::retry_after(now_, binding()->reset);
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
        conf_.tables->redis->connection->renew();
    }
    unavailable();
}

void Decision::show_windows(std::vector<WindowState> windows, Instant now) {
    windows_ = std::move(windows);
    now_ = now;
}

void Decision::unauthenticated(const Error& error) {
    const Instant now = node_time();
    show_windows(charge_anonymous(r_, *conf_.tables, 1, now), now);
    const bool exhausted = std::ranges::any_of(windows_, &WindowState::exhausted);
    if (exhausted) {
        retry_after_ = tollgate::retry_after(now_, binding()->reset);
        settle(Verdict::kLimited, NGX_HTTP_TOO_MANY_REQUESTS, kRateLimitExceeded);
    } else {
        settle(Verdict::kUnauthenticated, NGX_HTTP_UNAUTHORIZED, error);
    }
}

void Decision::unavailable() {
    if (conf_.tables->redis->on_failure == FailurePolicy::kAllow &&
        (!key_.id.empty() || recall())) {
        if (has_place_in(*conf_.tables)) {
            grant(Verdict::kDegraded);
        } else {
            forbid();
        }
        return;
    }
    retry_after_ = kRetryUnavailable;
    settle(Verdict::kUnavailable, NGX_HTTP_SERVICE_UNAVAILABLE, kServiceUnavailable);
}

/// Whether the key was good when Redis was last asked, and still is.
bool Decision::recall() {
    auto record = recall_key(MainConf::of(r_), sought_, node_time());
    if (!record || !is_valid_now(*record)) {
        return false;
    }
    key_ = std::move(*record);
    return true;
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
    const auto& connection = conf_.tables->redis->connection;
    if (!connection || !connection->send(command, std::move(waiter))) {
        unavailable();
        return;
    }
    waiter_ = borrowed;
    detach_ = &Waiter<OnReply>::detach;
}

}  // namespace tollgate::http
