#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "module/engine/admission.hpp"
#include "module/engine/engine.hpp"
#include "module/key/digest.hpp"
#include "t/unit/engine/ordered_node_setup.hpp"
#include "t/unit/engine/simulated_process.hpp"
#include "t/unit/engine/simulated_redis.hpp"
#include "t/unit/engine/timeline.hpp"

namespace tollgate::engine {

/// One execution of a node.
class OrderedNode {
  public:
    explicit OrderedNode(const OrderedNodeSetup& setup)
        : setup_(setup), zone_(setup.id, setup.zone_size), redis_(own_redis(setup)) {
        for (std::size_t i = 0; i < setup.workers; ++i) {
            workers_.push_back(std::make_unique<Worker>(*this, i));
        }
        requests_.resize(setup.requests.size());
        states_.resize(setup.requests.size(), NodeView::Request::kNone);
        told_.resize(setup.requests.size(), 0);
        shown_.resize(setup.requests.size(), 0);
        setup.prepare(zone_);
        run_posted();
    }

    /// The node dies: it sends nothing more, and no callback follows.
    ~OrderedNode() {
        is_ending_ = true;
        requests_.clear();
        calls_.clear();
    }
    OrderedNode(const OrderedNode&) = delete;
    OrderedNode& operator=(const OrderedNode&) = delete;

    /// `values` are those of the reply, if it is one.
    void apply(const NodeEvent& event, redis::ReplyValues values) {
        has_acted_ = false;
        const auto index = static_cast<std::size_t>(event.number);
        switch (event.kind) {
            case NodeEvent::Kind::kBegin:
                begin(index);
                break;
            case NodeEvent::Kind::kEnd:
                end(index);
                break;
            case NodeEvent::Kind::kReply:
                answer(calls_[index], values);
                break;
            case NodeEvent::Kind::kBreak:
                lose_connection(*workers_[index], fail);
                break;
            case NodeEvent::Kind::kLose:
                fail(calls_[index]);
                break;
            case NodeEvent::Kind::kMessage:
                ++messages_;
                workers_.front()->engine.on_event(event.text);
                break;
            case NodeEvent::Kind::kPass:
                pass(Timeline::Time(event.number));
                break;
            case NodeEvent::Kind::kStall:
                timeline_.skip_to(Timeline::Time(event.number));
                for (Call& call : calls_) {
                    call.deadline = timeline_.now() + setup_.redis.timeout;
                }
                break;
            case NodeEvent::Kind::kKillWorker:
                kill(index);
                break;
        }
        run_posted();
    }

    NodeView view() {
        NodeView view{.now = timeline_.now(),
                      .has_acted = has_acted_,
                      .requests = states_,
                      .told = told_,
                      .shown = shown_};
        for (const Call& call : calls_) {
            view.calls.push_back({call.call, call.connection, call.handler != nullptr,
                                  call.connection != workers_[call.worker]->connection ||
                                      workers_[call.worker]->events.is_killed});
        }
        for (std::size_t i = 0; i < zone_.stripes(); ++i) {
            const LockedStripe stripe(zone_, StripeNumber{i});
            stripe.flights().for_each([&](const Flight& flight) {
                const auto is_own = [&](const OrderedRequest& request) {
                    return is_same_id(flight.name().key.id, id_hash(request.id));
                };
                view.flights += std::ranges::any_of(setup_.requests, is_own) ? 1 : 0;
                view.places +=
                    is_same_id(flight.name().key.id, id_hash("k")) ? flight.node()->places : 0;
            });
            QuotaCache::Cursor cursor;
            bool is_last = false;
            while (!is_last) {
                is_last = stripe.quotas().visit_held(cursor, [&](const QuotaCache::Held& held) {
                    view.leased += held.state.lease;
                    for (const auto& window : held.state.windows) {
                        view.owed += window.owed;
                    }
                    view.holds = true;
                    return true;
                });
            }
        }
        return view;
    }

  private:
    struct Call {
        std::shared_ptr<const redis::Call> call;
        std::unique_ptr<redis::ReplyHandler> handler;  ///< nullptr: it awaits no reply any more
        std::size_t worker;
        std::size_t connection;
        Timeline::Time deadline;
    };

    class Link final : public redis::Transport {
      public:
        Link(OrderedNode& node, std::size_t worker) : node_(node), worker_(worker) {}

        bool is_reachable(redis::Slot /*slot*/) const noexcept override { return true; }
        std::uint32_t master_name(redis::Slot /*slot*/) const noexcept override { return 1; }
        void run(redis::Slot /*slot*/, redis::Call call,
                 std::unique_ptr<redis::ReplyHandler> handler) noexcept override {
            node_.send(worker_, std::move(call), std::move(handler));
        }
        void report_failure(redis::Slot /*slot*/, std::string_view error) noexcept override {
            ADD_FAILURE() << error;
        }

      private:
        OrderedNode& node_;
        std::size_t worker_;
    };

    /// Makes timers that end with the worker.
    class Loop final : public EventLoop {
      public:
        explicit Loop(Timeline& timeline) : events_(timeline) {}
        std::unique_ptr<Timer> make_timer(std::function<void()> handler) override {
            return events_.make_timer([this, handler = std::move(handler)] {
                if (!is_killed) {
                    handler();
                }
            });
        }
        bool is_killed = false;

      private:
        SimulatedEventLoop events_;
    };

    struct Worker {
        Worker(OrderedNode& node, std::size_t number)
            : connection(number),
              clock(node.timeline_),
              events(node.timeline_),
              process(number, node.zone_.processes),
              link(node, number),
              engine(node.setup_.redis, node.setup_.served, node.zone_, statistics, link,
                     {clock, events, log, process}),
              tables(node.setup_.set, std::nullopt, engine, {}) {
            clock.start = kOrdersBegin;
            node.zone_.start_worker(process, node.setup_.served);
            if (number == 0) {
                engine.identity().changes.on_subscribed(true);
            }
        }
        std::size_t connection;
        SimulatedClock clock;
        Loop events;
        SimulatedLog log;
        SimulatedWorker process;
        RedisStatistics statistics;
        Link link;
        Engine engine;
        TableSet tables;
    };

    struct Request final : Admission::Client {
        Request(OrderedNode& at, std::size_t of_number)
            : node(at), number(of_number), admission(worker().engine, worker().tables, *this, {}) {}

        const OrderedRequest& wanted() const { return node.setup_.requests[number]; }
        Worker& worker() const { return *node.workers_[wanted().worker]; }
        std::string_view value(std::size_t /*table*/) override { return {}; }
        Cost cost() override { return {wanted().cost, wanted().used.has_value()}; }
        AddressBytes address() const override { return {}; }
        Log& log() noexcept override { return worker().log; }
        void on_outcome() noexcept override {
            const auto& outcome = admission.outcome();
            node.has_acted_ = true;
            node.states_[number] =
                outcome.is_granted() ? NodeView::Request::kRuns : NodeView::Request::kRefused;
            if (outcome.is_granted() && outcome.quotas && !outcome.quotas->front().rates.empty()) {
                const std::chrono::milliseconds length(
                    outcome.quotas->front().rates.front().period.length());
                node.shown_[number] = length.count();
            }
        }

        OrderedNode& node;
        std::size_t number;
        Admission admission;
    };

    static SimulatedRedis own_redis(const OrderedNodeSetup& setup) {
        SimulatedRedis redis;
        for (const auto& request : setup.requests) {
            redis.records[setup.redis.keys.key(hex(sha256(request.id)))] = {.id = request.id,
                                                                            .name = {},
                                                                            .plan = "free",
                                                                            .limits = {},
                                                                            .expires = {},
                                                                            .active = true};
        }
        return redis;
    }

    void begin(std::size_t number) {
        auto& request = requests_[number] = std::make_unique<Request>(*this, number);
        states_[number] = NodeView::Request::kWaits;
        told_[number] = messages_;
        const auto& wanted = setup_.requests[number];
        if (setup_.have_keys) {
            request->admission.start(std::string_view(wanted.id));
        } else {
            request->admission.start(Subject{.id = wanted.id, .plan = "free"});
        }
    }

    void end(std::size_t number) {
        if (states_[number] == NodeView::Request::kRuns) {
            requests_[number]->admission.settle(
                setup_.requests[number].used.value_or(setup_.requests[number].cost));
        }
        states_[number] = NodeView::Request::kEnded;
        requests_[number].reset();
    }

    /// A reply to a call of a script that is not ordered arrives at the end of the turn.
    void send(std::size_t worker, redis::Call call, std::unique_ptr<redis::ReplyHandler> handler) {
        if (is_ending_) {
            return;
        }
        if (std::ranges::find(setup_.ordered, call.script) == setup_.ordered.end()) {
            const auto shared =
                std::make_shared<std::unique_ptr<redis::ReplyHandler>>(std::move(handler));
            timeline_.at(timeline_.now(), [this, worker, shared, call = std::move(call)] {
                if (worker < workers_.size() && workers_[worker]->events.is_killed) {
                    return;
                }
                redis::ReplyReader reader;
                reader.feed(redis_.run(call, kOrdersBegin + timeline_.now()));
                (*shared)->on_values(redis::elements_of(*reader.next()));
            });
            return;
        }
        has_acted_ = true;
        const std::size_t number = calls_.size();
        calls_.push_back({std::make_shared<const redis::Call>(std::move(call)), std::move(handler),
                          worker, workers_[worker]->connection,
                          timeline_.now() + setup_.redis.timeout});
        await(number);
    }

    void await(std::size_t number) {
        timeline_.at(calls_[number].deadline, [this, number] {
            const Call& call = calls_[number];
            Worker& worker = *workers_[call.worker];
            if (!call.handler || call.connection != worker.connection) {
                return;
            }
            if (timeline_.now() < call.deadline) {
                await(number);
                return;
            }
            lose_connection(worker, [](Call& late) {
                if (!late.handler->on_timeout()) {
                    late.handler.reset();
                }
            });
        });
    }

    /// The calls that are under way at a worker get no reply in time. Those that follow have a new
    /// connection.
    template <typename Lose>
    void lose_connection(Worker& worker, Lose lose) {
        has_acted_ = true;
        const std::size_t lost = worker.connection;
        worker.connection += setup_.workers;
        const std::size_t calls = calls_.size();
        for (std::size_t i = 0; i < calls; ++i) {
            if (calls_[i].handler && calls_[i].connection == lost) {
                lose(calls_[i]);
            }
        }
    }
    static void fail(Call& call) { std::exchange(call.handler, nullptr)->on_failure(); }

    static void answer(Call& call, redis::ReplyValues values) {
        std::exchange(call.handler, nullptr)->on_values(values);
    }

    /// Its requests end without a word, and its replies are not read.
    void kill(std::size_t worker) {
        for (Call& call : calls_) {
            if (call.worker == worker) {
                call.handler.reset();
            }
        }
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            if (requests_[i] && setup_.requests[i].worker == worker) {
                states_[i] = NodeView::Request::kEnded;
            }
        }
        workers_[worker]->events.is_killed = true;
        zone_.processes.erase(workers_[worker]->process.process());
    }

    void pass(Timeline::Time end) {
        for (auto next = timeline_.next(); next && *next <= end && !has_acted_;
             next = timeline_.next()) {
            timeline_.run_until(*next);
        }
        if (!has_acted_) {
            timeline_.run_until(end);
        }
    }

    void run_posted() { timeline_.run_until(timeline_.now()); }

    const OrderedNodeSetup& setup_;
    Timeline timeline_;
    SimulatedZone zone_;
    SimulatedRedis redis_;  ///< for the calls that are not ordered
    std::vector<NodeView::Request> states_;
    std::size_t messages_ = 0;
    std::vector<std::size_t> told_;
    std::vector<std::int64_t> shown_;
    bool has_acted_ = false;
    bool is_ending_ = false;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::unique_ptr<Request>> requests_;
    std::deque<Call> calls_;
};

}  // namespace tollgate::engine
