#include "module/redis/io/reported_address.hpp"

#include <optional>
#include <utility>

#include "module/redis/io/numeric_address.hpp"

namespace tollgate::redis {

namespace {

Server to_server(const ServerAddress& reported, const Resolver& resolver) {
    Server server;
    if (auto address = numeric_address(reported)) {
        server.addresses.push_back(std::move(*address));
    } else if (resolver.resolver != nullptr) {
        server.host = reported.host;
        server.port = reported.port;
    }
    return server;
}

}  // namespace

ReportedAddress::ReportedAddress(const ServerAddress& server, const Resolver& resolver,
                                 const std::string& owner, AddressListener& listener,
                                 ngx_log_t* log)
    : servers_{to_server(server, resolver)}, addresses_(servers_, resolver, owner, listener, log) {}

}  // namespace tollgate::redis
