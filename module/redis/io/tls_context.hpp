#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
}

#include <string>

#include "module/key/digest.hpp"

namespace tollgate::redis {

/// The `tls_*` directives of a `tollgate_redis` block.
struct TlsSettings {
    std::string ca;  ///< file of CA certificates; empty: those of the system
    std::string certificate;
    std::string certificate_key;
    std::string server_name;  ///< host name or IP address that the server's certificate must have
    bool verify = true;
};

/// What TLS connections to a Redis have in common: protocols, certificates, and the verification of
/// the server. It is created when the configuration is read and does not change.
class TlsContext {
  public:
    /// Reads the files, whose names are relative to nginx.conf's folder. `server_name` must be set.
    /// Throws ParseError for a file that can't be used, and if nginx is built without SSL.
    TlsContext(ngx_conf_t* cf, TlsSettings settings);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    /// The server name for the handshake (SNI); empty for an IP address (RFC 6066 section 3).
    const std::string& sni() const { return sni_; }
    const std::string& server_name() const { return settings_.server_name; }

    /// Identifies the settings and the contents of the files. A session may be resumed only by a
    /// context with the fingerprint of the context that created it: the certificate of the server
    /// is not verified again.
    const Sha256& fingerprint() const { return fingerprint_; }

#if (NGX_SSL)
    /// nginx's functions take a pointer to a context that they don't change.
    ngx_ssl_t* get() const {
        return &ssl_;
    }
#endif

  private:
    TlsSettings settings_;
    std::string sni_;
    Sha256 fingerprint_{};
#if (NGX_SSL)
    void load_authorities(ngx_conf_t* cf);
    void load_certificate(ngx_conf_t* cf);
    void set_verification();

    mutable ngx_ssl_t ssl_{};
#endif
};

}  // namespace tollgate::redis
