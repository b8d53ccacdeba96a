#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace tollgate::cli {

/// Secrets of webhooks (Standard Webhooks 1.0): bytes that the sender and the receiver know.
class WebhookSecrets {
  public:
    /// Reads one or more secrets, separated by white space: `whsec_` and 24 to 64 bytes in base64.
    /// A receiver accepts a signature of any of them, so that a secret can be replaced. Throws
    /// ParseError, whose text has no secret.
    static WebhookSecrets parse(std::string_view text);

    /// The value of `webhook-signature`: `v1,` and the HMAC-SHA256 of `ID.TIMESTAMP.BODY` in
    /// base64, for each secret. Throws std::runtime_error if OpenSSL fails.
    std::string signatures(std::string_view id, std::chrono::sys_seconds timestamp,
                           std::string_view body) const;

  private:
    std::vector<std::string> secrets_;
};

}  // namespace tollgate::cli
