#pragma once

#include <termios.h>

namespace tollgate::cli {

/// Whether standard input is a terminal, and this process may use it: it is in the foreground.
bool reads_terminal();

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

}  // namespace tollgate::cli
