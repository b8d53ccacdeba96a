#pragma once

#include <optional>
#include <string>

#include "module/http/redis/tls_session_zone.hpp"
#include "module/redis/io/tls_peer.hpp"
#include "module/report/statistics.hpp"

namespace tollgate::http {

/// TLS of a worker's connections to one `tollgate_redis`. All of them resume the session that the
/// workers share.
class RedisTls final : private redis::TlsListener {
  public:
    /// `context` is nullptr without TLS. `sessions` may be nullptr: sessions are then not resumed.
    /// All must outlive the object.
    RedisTls(const redis::TlsContext* context, TlsSessionZone* sessions,
             RedisStatistics& statistics)
        : context_(context), sessions_(sessions), statistics_(statistics) {
        if (context != nullptr) {
            peer_.emplace(*context, static_cast<redis::TlsListener&>(*this));
        }
    }
    ~RedisTls() override = default;
    RedisTls(const RedisTls&) = delete;
    RedisTls& operator=(const RedisTls&) = delete;

    /// For the links; nullptr without TLS.
    redis::TlsPeer* peer() { return peer_ ? &*peer_ : nullptr; }

  private:
    void on_handshake(bool is_resumed) noexcept override {
        statistics_["tls_handshakes"].add();
        statistics_["tls_resumed"].add(is_resumed ? 1 : 0);
    }
    void store_session(std::string_view session) noexcept override {
        if (sessions_ != nullptr) {
            sessions_->store(context_->fingerprint(), session);
        }
    }
    std::string stored_session() override {
        return sessions_ != nullptr ? sessions_->find(context_->fingerprint()) : std::string();
    }

    const redis::TlsContext* context_;
    TlsSessionZone* sessions_;
    RedisStatistics& statistics_;
    std::optional<redis::TlsPeer> peer_;
};

}  // namespace tollgate::http
