#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// Whether standard input is a terminal, and this process may use it: it is in the foreground.
bool stdin_is_terminal();

/// Changes how the terminal at standard input takes input, for as long as it lives. The signals
/// that end the process (SIGINT, SIGTERM, SIGHUP, SIGQUIT) restore the terminal first. Only one may
/// exist at a time. It does nothing where standard input is no terminal.
class TerminalMode {
  public:
    /// `cleared`: flags of c_lflag to turn off, such as ECHO.
    explicit TerminalMode(tcflag_t cleared);
    ~TerminalMode();
    TerminalMode(const TerminalMode&) = delete;
    TerminalMode& operator=(const TerminalMode&) = delete;

  private:
    bool changed_ = false;
};

/// Writes a prompt to standard error and reads one line from the terminal without echo.
std::string read_hidden_line(std::string_view prompt);

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
