#pragma once

#include <curl/curl.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::cli {

/// The URL of an HTTP resource.
struct HttpUrl {
    std::string url;      ///< in the form that libcurl reads; may contain a user and a password
    std::string socket;   ///< path of a unix socket; empty: connect to the host of `url`
    std::string address;  ///< the URL without user, password and query, for messages
};

/// Parses `http://…`, `https://…` (both may contain `USER:PASSWORD@`), or `unix:SOCKET:/PATH`, also
/// with `http://` before it, as in nginx's `proxy_pass`. Throws Failure with ExitStatus::kUsage.
HttpUrl parse_http_url(std::string_view text);

/// Sends a GET request that accepts JSON, and returns the body of the response. Throws Failure with
/// ExitStatus::kRedis if the request fails, takes more than 15 seconds, or returns another status
/// than 200 or a body of more than 64 MiB.
std::string http_get(const HttpUrl& url);

/// What became of a request.
struct HttpAnswer {
    long status = 0;      ///< 0: there is no response
    std::string text;     ///< the status, or what is wrong with the response, for messages
    bool is_cut = false;  ///< the body of the response is too long

    bool is_success() const { return status >= 200 && status < 300; }
    /// Whether the server refuses this request, and may accept others (RFC 9110 section 15.5):
    /// neither a timeout (408) nor too many of them (429).
    bool is_refusal() const {
        return status >= 400 && status < 500 && status != 408 && status != 429;
    }
};

/// Sends requests to a URL, over a connection that is kept. A request takes up to 15 seconds. The
/// server of an https URL is verified, and no redirection is followed.
class HttpClient {
  public:
    /// Throws Failure if libcurl cannot be used.
    explicit HttpClient(HttpUrl url);

    /// Sends a request with these header fields, each `NAME: VALUE`. The method is POST if there is
    /// a body, otherwise GET. `received` gets the body of the response, as far as it is not longer
    /// than 64 MiB; nullptr: nobody needs it. Throws Failure if libcurl cannot be used.
    HttpAnswer send(const std::vector<std::string>& fields, const std::string* body,
                    std::string* received);

    const HttpUrl& url() const { return url_; }

  private:
    struct Deleter {
        void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
        void operator()(curl_slist* list) const { curl_slist_free_all(list); }
    };

    template <typename Value>
    void set(CURLoption option, Value value);
    bool has_unread_data() const;

    HttpUrl url_;
    std::unique_ptr<CURL, Deleter> curl_;
    std::array<char, CURL_ERROR_SIZE> why_{};
};

}  // namespace tollgate::cli
