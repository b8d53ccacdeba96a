#include "module/cli/usage/http_get.hpp"

#include <curl/curl.h>

#include <array>
#include <memory>

#include "module/cli/failure.hpp"

namespace tollgate::cli {

namespace {

constexpr long kConnectTimeout = 5;  // seconds
constexpr long kGetTimeout = 15;
constexpr std::size_t kLongestBody = std::size_t{64} << 20U;

struct Deleter {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
    void operator()(CURLU* url) const { curl_url_cleanup(url); }
    void operator()(char* text) const { curl_free(text); }
};

[[noreturn]] void refuse_http_url(const std::string& why) {
    // The message does not contain the URL, because it may contain a password.
    throw Failure(ExitStatus::kUsage, "invalid URL: " + why);
}

/// Returns a part of the URL, or an empty text if the URL does not have it.
std::string part_of(CURLU* url, CURLUPart part) {
    char* text = nullptr;
    if (curl_url_get(url, part, &text, 0) != CURLUE_OK) {
        return "";
    }
    const std::unique_ptr<char, Deleter> kept(text);
    return kept.get();
}

HttpUrl parse_http(const std::string& text) {
    const std::unique_ptr<CURLU, Deleter> url(curl_url());
    if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) {
        refuse_http_url("use http://HOST[:PORT]/PATH, https://… or unix:SOCKET:/PATH");
    }
    // Remove the user, the password and the query from the address in messages.
    curl_url_set(url.get(), CURLUPART_USER, nullptr, 0);
    curl_url_set(url.get(), CURLUPART_PASSWORD, nullptr, 0);
    curl_url_set(url.get(), CURLUPART_QUERY, nullptr, 0);
    return {.url = text, .socket = "", .address = part_of(url.get(), CURLUPART_URL)};
}

HttpUrl parse_http_on_socket(std::string_view text) {
    const auto colon = text.find(":/");
    const auto socket = text.substr(0, colon);
    if (socket.empty()) {
        refuse_http_url("the socket after unix: is missing");
    }
    const auto path = colon == std::string_view::npos ? "/" : text.substr(colon + 1);
    auto url = parse_http("http://localhost" + std::string(path));
    url.socket = socket;
    url.address = "unix:" + std::string(text);
    return url;
}

/// Receives a part of the body from libcurl.
std::size_t append(char* data, std::size_t size, std::size_t count, void* body) noexcept {
    try {
        auto& text = *static_cast<std::string*>(body);
        if (text.size() + size * count > kLongestBody) {
            return 0;
        }
        text.append(data, size * count);
        return size * count;
    } catch (...) {
        return 0;  // libcurl reports an error
    }
}

}  // namespace

HttpUrl parse_http_url(std::string_view text) {
    constexpr std::string_view kUnix = "unix:";
    auto rest = text;
    if (rest.starts_with("http://unix:")) {
        rest.remove_prefix(std::string_view("http://").size());
    }
    if (rest.starts_with(kUnix)) {
        return parse_http_on_socket(rest.substr(kUnix.size()));
    }
    if (!text.starts_with("http://") && !text.starts_with("https://")) {
        refuse_http_url("it must begin with http://, https:// or unix:");
    }
    return parse_http(std::string(text));
}

std::string http_get(const HttpUrl& url) {
    const std::unique_ptr<CURL, Deleter> curl(curl_easy_init());
    const std::unique_ptr<curl_slist, Deleter> headers(
        curl_slist_append(nullptr, "Accept: application/json"));
    if (!curl || !headers) {
        throw Failure(ExitStatus::kRedis, "libcurl cannot be initialized");
    }
    std::string body;
    std::array<char, CURL_ERROR_SIZE> why{};
    const auto set = [&](CURLoption option, auto value) {
        if (curl_easy_setopt(curl.get(), option, value) != CURLE_OK) {
            throw Failure(ExitStatus::kRedis,
                          "libcurl does not support a required option: install a newer one");
        }
    };
    set(CURLOPT_URL, url.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTPHEADER, headers.get());
    set(CURLOPT_USERAGENT, "tollgate/" TOLLGATE_VERSION);
    set(CURLOPT_CONNECTTIMEOUT, kConnectTimeout);
    set(CURLOPT_TIMEOUT, kGetTimeout);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_ERRORBUFFER, why.data());
    set(CURLOPT_WRITEFUNCTION, append);
    set(CURLOPT_WRITEDATA, &body);
    if (!url.socket.empty()) {
        set(CURLOPT_UNIX_SOCKET_PATH, url.socket.c_str());
    }
    const auto code = curl_easy_perform(curl.get());
    if (code == CURLE_WRITE_ERROR) {
        throw Failure(ExitStatus::kRedis, url.address + " responds with more than " +
                                              std::to_string(kLongestBody >> 20U) + " MiB");
    }
    if (code != CURLE_OK) {
        const std::string reason = why.front() != '\0' ? why.data() : curl_easy_strerror(code);
        throw Failure(ExitStatus::kRedis, "no response from " + url.address + ": " + reason);
    }
    long status = 0;
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        throw Failure(ExitStatus::kRedis,
                      url.address + " responds with HTTP status " + std::to_string(status));
    }
    return body;
}

}  // namespace tollgate::cli
