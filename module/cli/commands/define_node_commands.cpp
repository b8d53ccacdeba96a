#include "module/cli/commands/command_builder.hpp"
#include "module/cli/commands/command_definitions.hpp"
#include "module/cli/commands/commands.hpp"
#include "module/cli/failure.hpp"
#include "module/cli/redis/deployment_warnings.hpp"

namespace tollgate::cli {

namespace {

constexpr std::string_view kDoctorNote =
    "The command only reads. It prints a line for each problem: the kind of the check, what is "
    "wrong, and what to do. It checks the masters of Redis (version, persistence, eviction, "
    "clock, permissions of this user), whether gateways use it (plans, nodes), whether gateways "
    "apply "
    "the keys of each id (plans, ids, groups), whether an id lists each key (records), and "
    "whether notices are delivered (notices). With --status, it checks the nodes, too (zone, "
    "reachable), also if Redis or another node is unreachable: the exit status is 1 then. With "
    "--gateway-user, it asks Redis 7.0 or later what this user may do (ACL "
    "DRYRUN), and names what is missing for the gateways (permissions).";

constexpr std::string_view kStatusNote =
    "URL may contain USER:PASSWORD@. Set it in the environment to keep it out of the process "
    "list. --json prints the response of the node unchanged. The counts of a node begin when it "
    "starts.";

constexpr std::string_view kNotifyNote =
    "A notice says that the count of a window has reached a level of `notify` of its plan table, "
    "or that a key expires in 30, 7 or 1 days. It is a webhook by the Standard Webhooks "
    "specification, delivered at least once: a repeated one has the same webhook-id. A response "
    "of 2xx accepts it. After another response, or none within 15 seconds, it is tried again "
    "until it is seven days old. 410 ends the command with status 6. The file has one or more "
    "secrets, each whsec_ and 24 to 64 bytes in base64: openssl rand -base64 32. The command "
    "runs until it is killed, which loses no notice. Several may run at the same time.";

/// Prints the status of a node, and warns about its Redis, if it is configured: the default address
/// may be another one.
void show_status(const CommandLine& line) {
    print_node_status(line.url, line.format());
    try {
        const auto configuration = configuration_of(line);
        if (configuration.redis) {
            auto session = connect(configuration, line.ask_password);
            warn_of_dangers(session);
        }
    } catch (const Failure& failure) {
        warn(std::string("Redis cannot be checked: ") + failure.what());
    }
}

}  // namespace

void define_doctor(CLI::App& app, CommandLine& line) {
    CLI::App& doctor =
        add_command(app, "doctor", "Check Redis, the keys and the nodes", line, [&line] {
            examine([&line] { return connect(configuration_of(line), line.ask_password); }, line);
        });
    add_repeatable(doctor, "--status", line.statuses,
                   "URL of the tollgate_status of a node, as for status; may be repeated");
    doctor.add_option("--gateway-user", line.gateway_user,
                      "User of the gateways in Redis, whose commands are checked");
    add_note(doctor, kDoctorNote);
}

void define_status(CLI::App& app, CommandLine& line) {
    CLI::App& status =
        add_command(app, "status", "Show the counts of a node, from its tollgate_status", line,
                    [&] { show_status(line); });
    status.add_option("URL", line.url, "http://HOST[:PORT]/PATH, https://... or unix:SOCKET:/PATH")
        ->required()
        ->envname("TOLLGATE_STATUS");
    add_note(status, kStatusNote);
}

void define_notify(CLI::App& app, CommandLine& line) {
    CLI::App& command =
        add_redis_command(app, "notify", "Deliver notices as webhooks", line, notify);
    command
        .add_option(
            "--url", line.notify.url,
            "URL of the receiver: https://HOST[:PORT]/PATH, http://... or unix:SOCKET:/PATH")
        ->required()
        ->envname("TOLLGATE_NOTIFY_URL");
    command.add_option("--secret-file", line.notify.secret_file, "File with the secrets")
        ->required()
        ->type_name("FILE")
        ->envname("TOLLGATE_NOTIFY_SECRET_FILE");
    add_note(command, kNotifyNote);
}

}  // namespace tollgate::cli
