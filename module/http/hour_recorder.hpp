#pragma once

#include <memory>

#include "module/http/config/main_conf.hpp"
#include "module/http/shared_memory.hpp"
#include "module/process/environment.hpp"

namespace tollgate::http {

/// Records the samples of the node's last hour. Each worker has one; of those whose timers fire at
/// the end of a minute, the first records.
class HourRecorder {
  public:
    /// Starts. The arguments must outlive it.
    HourRecorder(const MainConf& conf, SharedMemory& memory, const Environment& environment);

  private:
    void run() noexcept;
    void record();
    bool is_due() const;
    SteadyTime now() const;

    const MainConf& conf_;
    SharedMemory& memory_;
    const Clock& clock_;
    Log& log_;
    std::unique_ptr<Timer> timer_;
};

}  // namespace tollgate::http
