// A stream of replies to three calls of a script, one of them after ASKING, on a connection that is
// lost when some of the calls are written.

#include "module/redis/protocol/pipeline.hpp"

#include <algorithm>
#include <array>

#include "t/fuzz/fuzz_target.hpp"
#include "t/fuzz/repeated.hpp"

namespace tollgate::fuzz {

namespace {

using namespace std::chrono_literals;

class CountingHandler final : public redis::ReplyHandler {
  public:
    explicit CountingHandler(int& calls) : calls_(calls) {}
    void on_values(std::span<const redisReply* const> /*values*/) noexcept override { ++calls_; }
    void on_error(std::string_view /*message*/) noexcept override { ++calls_; }
    void on_failure() noexcept override { ++calls_; }

  private:
    int& calls_;
};

/// Reads the stream until it ends, or until the connection is to be closed.
void take_replies(redis::Pipeline& pipeline, std::string_view stream) {
    constexpr std::size_t kPiece = 16384;
    redis::ReplyReader reader;
    while (!stream.empty() && reader.feed(stream.substr(0, kPiece))) {
        stream.remove_prefix(std::min(kPiece, stream.size()));
        while (const redis::ReplyPtr reply = reader.next()) {
            const bool had_released = pipeline.has_released();
            const auto taken = pipeline.take(*reply);
            if (taken == redis::Pipeline::Taken::kMismatched) {
                return;
            }
            require(had_released);
        }
    }
}

}  // namespace

void check(std::string_view input) {
    constexpr redis::Pipeline::Time kNow{1000s};
    redis::Pipeline pipeline(100, 50ms);
    std::array<int, 3> calls{};
    for (int& each : calls) {
        redis::Call call{&redis::probe_script()};
        call.asking = &each == &calls[1];
        pipeline.push(std::move(call), std::make_unique<CountingHandler>(each), kNow);
    }
    std::string out;
    pipeline.release(out, 0);
    pipeline.note_written(out.size() * (input.size() % 4) / 3, kNow);
    take_replies(pipeline, repeated(input));
    pipeline.fail_lost(kNow);
    require(!pipeline.has_released());
    std::string again;
    pipeline.release(again, 0);
    require(pipeline.empty() == again.empty());
    require(std::ranges::all_of(calls, [](int each) { return each <= 1; }));
    pipeline.fail_all();
    require(pipeline.empty());
    require(calls == std::array{1, 1, 1});
}

}  // namespace tollgate::fuzz
