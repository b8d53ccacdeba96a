#include "module/cli/notify/webhook.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <optional>
#include <stdexcept>

#include "module/text/parse_error.hpp"

namespace tollgate::cli {

namespace {

/// What OpenSSL reads and writes: bytes are unsigned there.
const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());  // NOLINT(*-reinterpret-cast)
}
unsigned char* bytes_of(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());  // NOLINT(*-reinterpret-cast)
}

/// The bytes of a text in base64 with its padding (RFC 4648); nullopt for another text.
std::optional<std::string> decode_base64(std::string_view text) {
    if (text.empty() || text.size() % 4 != 0) {
        return std::nullopt;
    }
    const auto last = text.find_last_not_of('=');
    const auto padding = text.size() - 1 - (last == text.npos ? 0 : last);
    std::string decoded(text.size() / 4 * 3, '\0');
    const int size =
        EVP_DecodeBlock(bytes_of(decoded), bytes_of(text), static_cast<int>(text.size()));
    // OpenSSL takes a padding character within the text for a zero.
    if (size < 0 || padding > 2 || text.find('=') < text.size() - padding) {
        return std::nullopt;
    }
    decoded.resize(decoded.size() - padding);
    return decoded;
}

std::string encode_base64(std::string_view bytes) {
    std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL appends a zero byte.
    text.resize(static_cast<std::size_t>(
        EVP_EncodeBlock(bytes_of(text), bytes_of(bytes), static_cast<int>(bytes.size()))));
    return text;
}

std::string hmac_sha256(const std::string& secret, const std::string& content) {
    std::string mac(EVP_MAX_MD_SIZE, '\0');
    unsigned int size = 0;
    if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), bytes_of(content),
             content.size(), bytes_of(mac), &size) == nullptr) {
        throw std::runtime_error("OpenSSL makes no HMAC");
    }
    mac.resize(size);
    return mac;
}

}  // namespace

WebhookSecrets WebhookSecrets::parse(std::string_view text) {
    constexpr std::string_view kPrefix = "whsec_";
    constexpr std::string_view kSpace = " \t\r\n";
    constexpr std::size_t kShortest = 24;
    constexpr std::size_t kLongest = 64;
    WebhookSecrets secrets;
    for (auto begin = text.find_first_not_of(kSpace); begin != text.npos;
         begin = text.find_first_not_of(kSpace)) {
        text.remove_prefix(begin);
        const auto word = text.substr(0, text.find_first_of(kSpace));
        text.remove_prefix(word.size());
        auto secret =
            word.starts_with(kPrefix) ? decode_base64(word.substr(kPrefix.size())) : std::nullopt;
        if (!secret || secret->size() < kShortest || secret->size() > kLongest) {
            throw ParseError("a secret is whsec_ and 24 to 64 bytes in base64");
        }
        secrets.secrets_.push_back(*std::move(secret));
    }
    if (secrets.secrets_.empty()) {
        throw ParseError("there is no secret");
    }
    return secrets;
}

std::string WebhookSecrets::signatures(std::string_view id, std::chrono::sys_seconds timestamp,
                                       std::string_view body) const {
    std::string content(id);
    content.append(".")
        .append(std::to_string(timestamp.time_since_epoch().count()))
        .append(".")
        .append(body);
    std::string signatures;
    for (const auto& secret : secrets_) {
        signatures.append(signatures.empty() ? "v1," : " v1,")
            .append(encode_base64(hmac_sha256(secret, content)));
    }
    return signatures;
}

}  // namespace tollgate::cli
