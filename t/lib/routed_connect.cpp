// For LD_PRELOAD into nginx: connections to some ports of 127.0.0.1 go to other ports of it, so
// that a proxy can stand before servers whose addresses nginx learns from a Sentinel or a cluster.
//
// TOLLGATE_ROUTES has the ports: `6379=7001,6380=7002`. See Nginx.pm.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

struct Routes {
    std::array<std::uint16_t, 65536> to{};  ///< by the port; 0: it has none

    Routes() {
        const char* text = std::getenv("TOLLGATE_ROUTES");
        while (text != nullptr && *text != '\0') {
            char* end = nullptr;
            const auto from = static_cast<std::uint16_t>(std::strtoul(text, &end, 10));
            if (*end != '=') {
                std::abort();
            }
            to[from] = static_cast<std::uint16_t>(std::strtoul(end + 1, &end, 10));
            text = *end == ',' ? end + 1 : end;
        }
    }
};

const Routes routes;

}  // namespace

// The C library names its parameters with leading underscores.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name)
extern "C" [[gnu::visibility("default")]] int connect(int socket, const sockaddr* address,
                                                      socklen_t length) {
    sockaddr_in routed{};
    if (length == sizeof(routed) && address->sa_family == AF_INET) {
        std::memcpy(&routed, address, sizeof(routed));
        const std::uint16_t port = routes.to[ntohs(routed.sin_port)];
        if (port != 0 && routed.sin_addr.s_addr == htonl(INADDR_LOOPBACK)) {
            routed.sin_port = htons(port);
            return static_cast<int>(syscall(SYS_connect, socket, &routed, length));
        }
    }
    return static_cast<int>(syscall(SYS_connect, socket, address, length));
}
