#include "module/cli/commands/command_builder.hpp"
#include "module/cli/commands/command_definitions.hpp"

namespace tollgate::cli {

namespace {

constexpr std::string_view kSimulateNote =
    "The command connects to nothing. It decides each request as the gateway would have with these "
    "plan tables, by all windows of all tables. Without --location, all tables decide every "
    "request. Lines are JSON documents as of conf/log-json.conf, or words as in nginx's format "
    "`combined`. A field is a member of the document; otherwise NAME for NAME=value, the number of "
    "a word, remote_addr or remote_user. A request belongs to the time at which it began: the time "
    "of its line without its duration. Requests that got 429 are tried again. Requests without an "
    "id (401) and those with 403 are not counted. The simulation starts with no counts. It has no "
    "bans, no leases, no limits of requests in flight and no budgets of addresses, and clients do "
    "not behave otherwise because of a "
    "refusal. Lines that cannot be read are counted and named. Lines may be out of order by half "
    "a million lines; a line that is later is counted in its own window if that is still known.";

}  // namespace

void define_simulate(CLI::App& app, CommandLine& line) {
    SimulateOptions& options = line.simulate;
    CLI::App& command = add_command(app, "simulate",
                                    "Show which ids of access logs other limits would have refused",
                                    line, [&] { simulate(options, line.format()); });
    command
        .add_option("LOG", options.logs,
                    "Access logs, also compressed by gzip; - for standard input")
        ->required()
        ->type_name("FILE");
    add_repeatable(
        command, "--plans", options.plans,
        "nginx.conf, or a file with tollgate_plans blocks or with the directives of one; may be "
        "repeated")
        ->required()
        ->type_name("FILE");
    add_repeatable(
        command, "--location", options.locations,
        "PREFIX=TABLE[,TABLE]... or PREFIX=off: the tables of the URIs with this prefix; may be "
        "repeated");
    command.add_option("--plan", options.keys.plan, "Plan of requests whose line has none");
    command.add_option("--limits", options.keys.limits,
                       "Limits for `custom` plans, such as \"5000r/m 1000000r/d\"");
    command.add_option("--id-field", options.fields.id,
                       "Field with the id of the client, if not key_id or key");
    command.add_option("--plan-field", options.fields.plan, "Field with the plan, if not plan");
    command.add_option("--cost-field", options.fields.cost,
                       "Field with the cost of the request, if not cost");
    command.add_option("--time-field", options.fields.time,
                       "Field with the time, if not msec or time");
    add_note(command, kSimulateNote);
}

}  // namespace tollgate::cli
