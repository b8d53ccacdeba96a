#include "module/cli/usage/status.hpp"

#include "module/cli/failure.hpp"
#include "module/cli/terminal/json_document.hpp"
#include "module/cli/terminal/output.hpp"
#include "module/cli/terminal/printable.hpp"
#include "module/cli/usage/fetch.hpp"
#include "module/cli/usage/render_status.hpp"

namespace tollgate::cli {

void run_status(const std::string& url, Format format) {
    const auto location = parse_location(url);
    const auto body = fetch(location);
    const auto status = Json::parse(body, nullptr, false);
    if (!status.is_object() || !status.contains("version") || !status.contains("requests")) {
        throw Failure(ExitStatus::kRedis,
                      location.name + " answers with something else than tollgate_status");
    }
    require_print(format == Format::kJson ? printable_json(body) + "\n" : render_status(status));
}

}  // namespace tollgate::cli
