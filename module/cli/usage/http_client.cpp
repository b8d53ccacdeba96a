#include "module/cli/usage/http_client.hpp"

#include <poll.h>

#include <memory>
#include <utility>

#include "module/cli/failure.hpp"

namespace tollgate::cli {

namespace {

constexpr long kConnectTimeout = 5;  // seconds
constexpr long kTimeout = 15;
constexpr std::size_t kLongestBody = std::size_t{64} << 20U;

struct UrlDeleter {
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
    const std::unique_ptr<char, UrlDeleter> kept(text);
    return kept.get();
}

HttpUrl parse_http(const std::string& text) {
    const std::unique_ptr<CURLU, UrlDeleter> url(curl_url());
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

/// Receives a part of the body from libcurl. `body`: a std::string, or nullptr.
std::size_t append(char* data, std::size_t size, std::size_t count, void* body) noexcept {
    try {
        if (body == nullptr) {
            return size * count;
        }
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

template <typename Value>
void HttpClient::set(CURLoption option, Value value) {
    if (curl_easy_setopt(curl_.get(), option, value) != CURLE_OK) {
        throw Failure(ExitStatus::kRedis,
                      "libcurl does not support a required option: install a newer one");
    }
}

HttpClient::HttpClient(HttpUrl url) : url_(std::move(url)), curl_(curl_easy_init()) {
    if (!curl_) {
        throw Failure(ExitStatus::kRedis, "libcurl cannot be initialized");
    }
    set(CURLOPT_URL, url_.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_USERAGENT, "tollgate/" TOLLGATE_VERSION);
    set(CURLOPT_CONNECTTIMEOUT, kConnectTimeout);
    set(CURLOPT_TIMEOUT, kTimeout);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_WRITEFUNCTION, append);
    if (!url_.socket.empty()) {
        set(CURLOPT_UNIX_SOCKET_PATH, url_.socket.c_str());
    }
}

/// Whether the server has sent something over the kept connection since the last response, or has
/// closed it. It would be taken for the response to the next request.
bool HttpClient::has_unread_data() const {
    curl_socket_t socket = CURL_SOCKET_BAD;
    if (curl_easy_getinfo(curl_.get(), CURLINFO_ACTIVESOCKET, &socket) != CURLE_OK ||
        socket == CURL_SOCKET_BAD) {
        return false;
    }
    pollfd state{.fd = socket, .events = POLLIN, .revents = 0};
    return poll(&state, 1, 0) != 0;
}

HttpAnswer HttpClient::send(const std::vector<std::string>& fields, const std::string* body,
                            std::string* received) {
    std::unique_ptr<curl_slist, Deleter> headers;
    for (const auto& field : fields) {
        curl_slist* const longer = curl_slist_append(headers.get(), field.c_str());
        if (longer == nullptr) {
            throw Failure(ExitStatus::kRedis, "libcurl has no memory");
        }
        static_cast<void>(headers.release());
        headers.reset(longer);
    }
    set(CURLOPT_HTTPHEADER, headers.get());
    set(CURLOPT_ERRORBUFFER, why_.data());
    set(CURLOPT_WRITEDATA, received);
    if (body != nullptr) {
        set(CURLOPT_POST, 1L);
        set(CURLOPT_POSTFIELDS, body->data());
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    }
    why_.front() = '\0';
    set(CURLOPT_FRESH_CONNECT, has_unread_data() ? 1L : 0L);
    const auto code = curl_easy_perform(curl_.get());
    set(CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));
    HttpAnswer answer;
    answer.is_cut = code == CURLE_WRITE_ERROR;
    if (code != CURLE_OK && !answer.is_cut) {
        answer.text = why_.front() != '\0' ? why_.data() : curl_easy_strerror(code);
        return answer;
    }
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &answer.status);
    answer.text = answer.is_cut ? "more than " + std::to_string(kLongestBody >> 20U) + " MiB"
                                : "HTTP status " + std::to_string(answer.status);
    return answer;
}

std::string http_get(const HttpUrl& url) {
    HttpClient client(url);
    std::string body;
    const auto answer = client.send({"Accept: application/json"}, nullptr, &body);
    if (answer.status == 0) {
        throw Failure(ExitStatus::kRedis, "no response from " + url.address + ": " + answer.text);
    }
    if (answer.status != 200 || answer.is_cut) {
        throw Failure(ExitStatus::kRedis, url.address + " responds with " + answer.text);
    }
    return body;
}

}  // namespace tollgate::cli
