#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tollgate::cli {

/// Whether standard input is a terminal and this process is in its foreground process group.
bool stdin_is_terminal();

/// Changes the input mode of the terminal at standard input until it is destroyed. SIGINT, SIGTERM,
/// SIGHUP and SIGQUIT restore the mode before they end the process. At most one object may exist at
/// a time. Does nothing if standard input is not a terminal.
class TerminalMode {
  public:
    /// `cleared` are the flags of c_lflag to turn off, such as ECHO.
    explicit TerminalMode(tcflag_t cleared);
    ~TerminalMode();
    TerminalMode(const TerminalMode&) = delete;
    TerminalMode& operator=(const TerminalMode&) = delete;

  private:
    bool changed_ = false;
};

/// Writes a prompt to standard error and reads one line from standard input without echo. Returns
/// the line without its line end.
std::string read_hidden_line(std::string_view prompt);

/// Whether ask() can be used: standard input and standard error are terminals.
bool can_ask();

/// Writes a question to standard error and reads one line from standard input. Returns whether it
/// is `y` or `yes`.
bool ask(std::string_view question);

/// The number of columns of standard output. Empty if it is not a terminal.
std::optional<std::size_t> output_width();

/// Standard output for texts that replace each other. On a terminal a text overwrites the previous
/// one. Otherwise an empty line separates the texts.
class Screen {
  public:
    /// If `in_place` is false, texts are written one after the other, without empty lines.
    explicit Screen(bool in_place);

    /// The number of lines that remain on the terminal besides `others` lines, at least 1.
    /// Unlimited if the screen is not a terminal.
    std::size_t lines_left(std::size_t others) const;

    /// Shows a text. Throws Failure if it can't be written.
    void show(std::string_view text);

    /// Waits for `time`. Returns false if the key `q` is pressed or the terminal is closed.
    bool wait(std::chrono::milliseconds time);

  private:
    bool terminal_;
    std::optional<TerminalMode> keys_;  ///< makes single key presses readable
    bool separate_;
    bool shown_ = false;
};

}  // namespace tollgate::cli
