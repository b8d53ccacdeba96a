#include "module/redis/io/tls_context.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "module/redis/io/captured_log.hpp"
#include "module/text/parse_error.hpp"

#if (NGX_SSL)

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace tollgate::redis {

namespace {

/// The depth to which certificate chains are verified. It suffices for public and private
/// hierarchies. `ssl_verify_depth` of nginx has to be set for private ones.
constexpr int kVerifyDepth = 9;

ngx_str_t copy(ngx_pool_t* pool, const std::string& text) {
    auto* data = static_cast<u_char*>(ngx_pnalloc(pool, text.size() + 1));
    if (data == nullptr) {
        throw std::bad_alloc();
    }
    text.copy(reinterpret_cast<char*>(data), text.size());
    data[text.size()] = '\0';
    return {text.size(), data};
}

/// Calls functions of nginx that report an error to the log of the context. Throws it as
/// ParseError.
class Caller {
  public:
    explicit Caller(ngx_ssl_t& ssl)
        : ssl_(ssl),
          log_(std::exchange(ssl.log, captured_.get())),
          // nginx would write the message to standard error, too.
          uses_stderr_(std::exchange(ngx_use_stderr, 0)) {}
    ~Caller() {
        ssl_.log = log_;
        ngx_use_stderr = uses_stderr_;
    }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

    void check(ngx_int_t result) {
        if (result != NGX_OK) {
            throw ParseError(std::string(captured_.take("TLS can't be set up")));
        }
    }

  private:
    CapturedLog captured_;
    ngx_ssl_t& ssl_;
    ngx_log_t* log_;
    ngx_uint_t uses_stderr_;
};

/// The contents of a file with this name. Throws ParseError if it can't be read.
std::string contents_of(ngx_conf_t* cf, const std::string& path, std::string_view directive) {
    ngx_str_t name = copy(cf->pool, path);
    if (ngx_conf_full_name(cf->cycle, &name, 1) != NGX_OK) {
        throw std::bad_alloc();
    }
    const std::string full(reinterpret_cast<const char*>(name.data), name.len);
    const auto failed = [&](std::string_view call) {
        const int error = errno;
        return ParseError(std::string(call) + "() " + in_quotes(full) + " failed (" +
                          std::to_string(error) + ": " + std::generic_category().message(error) +
                          ") in " + in_quotes(directive));
    };
    errno = 0;
    std::ifstream file(full, std::ios::binary);
    if (!file.is_open()) {
        throw failed("open");
    }
    std::string contents{std::istreambuf_iterator<char>(file), {}};
    if (file.bad()) {
        throw failed("read");
    }
    return contents;
}

bool is_ip_address(const std::string& name) {
    ASN1_OCTET_STRING* address = a2i_IPADDRESS(name.c_str());
    ASN1_OCTET_STRING_free(address);
    ERR_clear_error();
    return address != nullptr;
}

}  // namespace

TlsContext::TlsContext(ngx_conf_t* cf, TlsSettings settings) : settings_(std::move(settings)) {
    std::string all = settings_.server_name + '\n' + (settings_.verify ? "on" : "off");
    const auto add = [&](const std::string& path, std::string_view directive) {
        if (!path.empty()) {
            const auto contents = contents_of(cf, path, directive);
            all.append("\n" + std::string(directive) + " " + std::to_string(contents.size()) + "\n")
                .append(contents);
        }
    };
    add(settings_.ca, "tls_ca");
    add(settings_.certificate, "tls_certificate");
    add(settings_.certificate_key, "tls_certificate_key");
    fingerprint_ = sha256(all);
    if (!is_ip_address(settings_.server_name)) {
        sni_ = settings_.server_name;
    }

    ssl_.log = cf->log;
    try {
        Caller(ssl_).check(ngx_ssl_create(&ssl_, NGX_SSL_TLSv1_2 | NGX_SSL_TLSv1_3, nullptr));
        load_certificate(cf);
        load_authorities(cf);
        set_verification();
        Caller(ssl_).check(ngx_ssl_client_session_cache(cf, &ssl_, 1));
    } catch (...) {
        if (ssl_.ctx != nullptr) {
            ngx_ssl_cleanup_ctx(&ssl_);
        }
        throw;
    }
}

TlsContext::~TlsContext() {
    ngx_ssl_cleanup_ctx(&ssl_);
}

void TlsContext::load_certificate(ngx_conf_t* cf) {
    if (settings_.certificate.empty()) {
        return;
    }
    // nginx keeps the names as long as the context, which lives as long as the pool.
    ngx_str_t certificate = copy(cf->pool, settings_.certificate);
    ngx_str_t key = copy(cf->pool, settings_.certificate_key);
    Caller(ssl_).check(ngx_ssl_certificate(cf, &ssl_, &certificate, &key, nullptr));
}

void TlsContext::load_authorities(ngx_conf_t* cf) {
    if (!settings_.ca.empty()) {
        ngx_str_t ca = copy(cf->pool, settings_.ca);
        Caller(ssl_).check(ngx_ssl_trusted_certificate(cf, &ssl_, &ca, kVerifyDepth));
    } else if (SSL_CTX_set_default_verify_paths(ssl_.ctx) != 1) {
        ERR_clear_error();
        throw ParseError("the CA certificates of the system can't be used: set \"tls_ca\"");
    }
}

/// OpenSSL verifies the certificate and the name, and ends a handshake that fails: nothing is sent
/// to a server that is not the right one. nginx's own callback accepts every certificate, and its
/// check of the name knows no IP addresses.
void TlsContext::set_verification() {
    SSL_CTX_set_verify_depth(ssl_.ctx, kVerifyDepth);
    SSL_CTX_set_verify(ssl_.ctx, settings_.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    if (!settings_.verify) {
        return;
    }
    X509_VERIFY_PARAM* parameters = SSL_CTX_get0_param(ssl_.ctx);
    X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const std::string& name = settings_.server_name;
    const int rc = sni_.empty() ? X509_VERIFY_PARAM_set1_ip_asc(parameters, name.c_str())
                                : X509_VERIFY_PARAM_set1_host(parameters, name.data(), name.size());
    if (rc != 1) {
        ERR_clear_error();
        throw ParseError("the certificate of a server can't be checked for " + in_quotes(name));
    }
}

}  // namespace tollgate::redis

#else

namespace tollgate::redis {

TlsContext::TlsContext(ngx_conf_t* /*cf*/, TlsSettings settings) : settings_(std::move(settings)) {
    throw ParseError("\"tls on\" needs an nginx with SSL (--with-http_ssl_module)");
}

TlsContext::~TlsContext() = default;

}  // namespace tollgate::redis

#endif
