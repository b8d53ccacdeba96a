#include "module/redis/io/name_resolution.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

namespace tollgate::redis {

namespace {

SocketAddress with_port(const ngx_resolver_addr_t& found, in_port_t port) {
    sockaddr_storage storage{};
    std::memcpy(&storage, found.sockaddr, found.socklen);
    auto* address = reinterpret_cast<sockaddr*>(&storage);
    ngx_inet_set_port(address, port);
    return {address, found.socklen};
}

/// The time until nginx's resolver asks the name server again: it uses an answer until the end of
/// the second `last_second`. The margin is for timers that fire early by the wall clock.
std::chrono::milliseconds validity(time_t last_second) {
    constexpr std::chrono::milliseconds kMargin{10};
    const ngx_time_t* now = ngx_timeofday();
    return std::chrono::seconds(last_second + 1 - now->sec) - std::chrono::milliseconds(now->msec) +
           kMargin;
}

/// The entry of the name in the resolver's cache; nullptr if there is none. The order of the tree
/// is that of ngx_resolver_lookup_name, which is not exported.
ngx_resolver_node_t* find_cached(ngx_resolver_t& resolver, std::string_view name) {
    auto* bytes = reinterpret_cast<u_char*>(const_cast<char*>(name.data()));
    const std::uint32_t hash = ngx_crc32_short(bytes, name.size());
    ngx_rbtree_node_t* node = resolver.name_rbtree.root;
    while (node != resolver.name_rbtree.sentinel) {
        auto* entry = reinterpret_cast<ngx_resolver_node_t*>(node);  // `node` is its first member
        ngx_int_t order = 0;
        if (hash != node->key) {
            order = hash < node->key ? -1 : 1;
        } else {
            order = ngx_memn2cmp(bytes, entry->name, name.size(), entry->nlen);
        }
        if (order == 0) {
            return entry;
        }
        node = order < 0 ? node->left : node->right;
    }
    return nullptr;
}

/// Lets the next resolution of the name ask the name server, as if the cached answer had expired.
void expire_cached(ngx_resolver_t& resolver, std::string_view name) {
    constexpr int kMostAliases = 8;
    for (int i = 0; i < kMostAliases; ++i) {
        ngx_resolver_node_t* entry = find_cached(resolver, name);
        if (entry == nullptr || entry->waiting != nullptr) {
            return;
        }
        entry->valid = 0;
        if (entry->cnlen == 0) {
            return;
        }
        name = {reinterpret_cast<const char*>(entry->u.cname), entry->cnlen};
    }
}

}  // namespace

NameResolution::NameResolution(std::string host, in_port_t port, const Resolver& resolver,
                               std::string owner, AddressListener& listener, ngx_log_t* log)
    : host_(std::move(host)),
      port_(port),
      resolver_(resolver),
      owner_(std::move(owner)),
      listener_(listener),
      log_(log),
      timer_(Event::calling<&NameResolution::on_timer>(this, log)) {
    // The search of the resolver's cache needs the name as the resolver stores it.
    ngx_strlow(reinterpret_cast<u_char*>(host_.data()), reinterpret_cast<u_char*>(host_.data()),
               host_.size());
    if (host_.ends_with('.')) {
        host_.pop_back();
    }
    timer_.set_cancelable(true);
    // The answer may be in the cache: do not notify the listener from the constructor.
    schedule(Clock::now());
}

NameResolution::~NameResolution() {
    if (pending_ != nullptr) {
        ngx_resolve_name_done(pending_);
    }
}

void NameResolution::resolve_now() noexcept {
    ignores_cache_ = true;
    if (pending_ == nullptr) {
        schedule(std::min(due_, pace_.earliest(Clock::now())));
    }
}

void NameResolution::schedule(Clock::time_point time) noexcept {
    due_ = time;
    timer_.start_until(time);
}

void NameResolution::on_timer() noexcept {
    if (Clock::now() < due_) {
        timer_.start_until(due_);
    } else {
        resolve();
    }
}

void NameResolution::resolve() noexcept {
    const auto limit = pace_.time_limit(resolver_.timeout, !addresses_.empty());
    pace_.start(Clock::now());
    if (std::exchange(ignores_cache_, false)) {
        expire_cached(*resolver_.resolver, host_);
    }
    ngx_resolver_ctx_t* question = ngx_resolve_start(resolver_.resolver, nullptr);
    if (question == nullptr || question == NGX_NO_RESOLVER) {
        fail(NGX_ENOMEM, "Cannot allocate memory");
        return;
    }
    question->name = {host_.size(), reinterpret_cast<u_char*>(host_.data())};
    question->handler = handle_answer;
    question->data = this;
    question->timeout = static_cast<ngx_msec_t>(limit.count());
    question->cancelable = 1;
    pending_ = question;
    // If the answer is in the cache, the handler is called before this function returns. If it
    // fails, nginx has released the question.
    if (ngx_resolve_name(question) != NGX_OK) {
        pending_ = nullptr;
        fail(NGX_ENOMEM, "Cannot allocate memory");
    }
}

void NameResolution::handle_answer(ngx_resolver_ctx_t* answer) noexcept {
    auto& self = *static_cast<NameResolution*>(answer->data);
    self.take(*answer);
}

void NameResolution::take(const ngx_resolver_ctx_t& answer) noexcept {
    const ngx_int_t state = answer.state;
    const bool is_changed = state == NGX_OK && replace(answer);
    const auto valid = validity(answer.valid);
    ngx_resolve_name_done(std::exchange(pending_, nullptr));
    if (state != NGX_OK) {
        fail(state, ngx_resolver_strerror(state));
        return;
    }
    if (std::exchange(is_failing_, false)) {
        ngx_log_error(NGX_LOG_ERR, log_, 0, "tollgate: %s: \"%s\" is resolved again",
                      owner_.c_str(), host_.c_str());
    }
    const auto now = Clock::now();
    const auto next = pace_.succeed(now, valid);
    schedule(ignores_cache_ ? pace_.earliest(now) : next);
    is_tried_ = true;
    if (is_changed) {
        listener_.on_addresses();
    }
}

/// Returns whether the addresses differ from the last ones. nginx returns them in random order.
bool NameResolution::replace(const ngx_resolver_ctx_t& answer) noexcept {
    try {
        SocketAddresses found;
        for (const auto& address : std::span(answer.addrs, answer.naddrs)) {
            found.push_back(with_port(address, port_));
        }
        if (found.empty() || std::ranges::is_permutation(found, addresses_)) {
            return false;
        }
        addresses_ = std::move(found);
        return true;
    } catch (const std::exception& e) {
        ngx_log_error(NGX_LOG_CRIT, log_, 0, "tollgate: %s: the addresses of \"%s\": %s",
                      owner_.c_str(), host_.c_str(), e.what());
        return false;
    }
}

/// Logs the first of a series of failures, and resolves again later.
void NameResolution::fail(ngx_int_t code, const char* reason) noexcept {
    if (!std::exchange(is_failing_, true)) {
        ngx_log_error(NGX_LOG_ERR, log_, 0, "tollgate: %s: \"%s\" could not be resolved (%i: %s)%s",
                      owner_.c_str(), host_.c_str(), code, reason,
                      addresses_.empty() ? "; no address is known yet"
                                         : "; its last addresses remain in use");
    }
    const auto now = Clock::now();
    const auto next = pace_.fail(now, !addresses_.empty());
    schedule(ignores_cache_ ? pace_.earliest(now) : next);
    if (!std::exchange(is_tried_, true)) {
        listener_.on_addresses();
    }
}

}  // namespace tollgate::redis
