#pragma once

#include <hiredis/hiredis.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "module/redis/protocol/backoff.hpp"
#include "module/redis/protocol/command.hpp"
#include "module/redis/topology/sentinel_replies.hpp"
#include "module/redis/topology/server_address.hpp"

namespace tollgate::redis {

/// Finds the master that a group of Sentinels watches, according to Redis's guidelines for Sentinel
/// clients. step() is what the caller does next. Its result is an event, which determines the next
/// step. An event that does not belong to the step is ignored.
///
/// The Sentinels are asked in turn for the address of the master, and the first address is used.
/// If the server there is not a master or unreachable, all Sentinels are asked for their state of
/// the master, and the address with the highest config-epoch is used. If that does not help, the
/// search begins again after a delay. It ends when a server confirms that it is the master.
///
/// A deposed master may still say that it is the master, and Sentinels name it for some seconds:
/// the one that leads the failover, with the new config-epoch, and those that have not heard of it.
/// Therefore the address in a message of `+switch-master` is used at once, and the old one is
/// avoided.
///
/// Sentinels are indexes into the configured list. `random` is from 0 to 1.
class SentinelSearch {
  public:
    using Time = std::chrono::steady_clock::time_point;

    /// How long a Sentinel may take, from the beginning of the connection to the reply.
    static constexpr std::chrono::milliseconds kAnswerTimeout{300};

    enum class Question : std::uint8_t {
        kAddress,  ///< SENTINEL GET-MASTER-ADDR-BY-NAME
        kState     ///< SENTINEL MASTER
    };

    /// Nothing to do: start() has not been called.
    struct Idle {};
    /// Ask this Sentinel: on_answer() or on_failure(), or on_timer() at `until`. A connection that
    /// is still to answer then must be closed: its reply could be taken for a later one.
    struct Ask {
        std::size_t sentinel;
        Question question;
        Time until;
    };
    /// Connect to this server and ask it for its ROLE: on_role() or on_unreachable().
    struct Confirm {
        ServerAddress master;
    };
    /// on_timer() at `until`.
    struct Wait {
        Time until;
    };
    /// The search has ended: use this master. start() begins another search.
    struct Found {
        ServerAddress master;
    };
    using Step = std::variant<Idle, Ask, Confirm, Wait, Found>;

    /// Throws std::bad_alloc.
    explicit SentinelSearch(std::size_t sentinels);

    const Step& step() const noexcept { return step_; }

    /// Begins a search: at the start, when the master is lost or answers READONLY, and to look for
    /// changes. Does nothing while a search runs.
    void start(Time now, double random);
    /// Begins a search anew, also while one runs: a message of `+switch-master` names this master,
    /// which has to confirm it. Throws std::bad_alloc: the step is unchanged.
    void switch_to(const ServerAddress& master);
    /// No answer that names this server is used: server_hash() of the master that was deposed last;
    /// 0: none.
    void avoid(std::uint32_t server) noexcept { avoided_ = server; }

    /// The reply of a Sentinel, also an error reply. Throws std::bad_alloc: the step is unchanged.
    void on_answer(std::size_t sentinel, const redisReply& reply, Time now, double random);
    /// The connection to a Sentinel failed.
    void on_failure(std::size_t sentinel, Time now, double random);
    /// The reply to ROLE, also an error reply. A user who may not call ROLE is no contradiction.
    void on_role(const redisReply& reply, Time now, double random);
    /// The server could not be connected to, or did not answer.
    void on_unreachable(Time now, double random);
    /// The time has come that the step names; does nothing before that.
    void on_timer(Time now, double random);

  private:
    /// An answer to Question::kState.
    struct Candidate {
        std::size_t sentinel;
        MasterState master;
    };

    bool is_asked(std::size_t sentinel) const noexcept;
    void begin_pass(Question question, Time now, double random);
    void ask_next(Time now, double random);
    void end_pass(Time now, double random);
    void confirm(std::size_t sentinel, ServerAddress master);
    void contradict(Time now, double random);
    void wait(Time now, double random);
    bool is_usable(const ServerAddress& master) const;
    bool is_better(const MasterState& master) const;

    std::vector<std::size_t> order_;  ///< of the Sentinels: the one that helped last is first
    std::size_t asked_ = 0;           ///< number of Sentinels that this pass has asked
    Question question_ = Question::kAddress;
    std::optional<Candidate> best_;  ///< of this pass
    ServerAddress refuted_;          ///< the address that was contradicted in the pass before
    std::uint32_t avoided_ = 0;
    Backoff backoff_;
    Step step_;
};

/// The command that asks a Sentinel about the master of this name. Throws std::bad_alloc.
Words sentinel_command(SentinelSearch::Question question, std::string_view master_name);

}  // namespace tollgate::redis
