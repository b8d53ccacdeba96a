#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "module/cli/terminal/terminal_mode.hpp"

namespace tollgate::cli {

/// Standard output where a text takes the place of the last one: on a terminal in place, elsewhere
/// one after the other with an empty line between them.
class Screen {
  public:
    /// `in_place`: on a terminal, texts are shown in place.
    explicit Screen(bool in_place);

    /// How many lines the terminal has beside so many others; elsewhere any number.
    std::size_t lines_left(std::size_t others) const;

    /// Shows a text. Throws Failure when it can't be written.
    void show(std::string_view text);

    /// Waits. False when somebody has pressed `q` on the terminal meanwhile, or closed it.
    bool wait(std::chrono::milliseconds time);

  private:
    bool terminal_;
    std::optional<TerminalMode> keys_;  ///< lets keys be read one by one
    bool separate_;
    bool shown_ = false;
};

}  // namespace tollgate::cli
