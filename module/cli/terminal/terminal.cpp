#include "module/cli/terminal/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <thread>

#include "module/cli/terminal/output.hpp"
#include "module/text/utf8.hpp"

namespace tollgate::cli {

namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// Global, because a signal handler reads them.
termios before{};
std::array<struct sigaction, kSignals.size()> handlers_before{};

void restore_terminal() {
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

extern "C" void restore_and_end(int signal) {
    restore_terminal();
    // SA_RESETHAND has restored the default action. The signal is delivered when this handler
    // returns.
    static_cast<void>(std::raise(signal));
}

constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kClear = "\x1b[2J";
constexpr std::string_view kClearLine = "\x1b[K";
constexpr std::string_view kClearBelow = "\x1b[J";

/// Whether standard output is a terminal that supports escape sequences.
bool supports_cursor() {
    const char* term = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): there is one thread
    return ::isatty(STDOUT_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

/// The size of the terminal, or 24 lines of 80 columns if it is unknown.
winsize size() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
        size.ws_row = 24;
        size.ws_col = 80;
    }
    return size;
}

/// The first `width` UTF-8 characters of a line.
std::string_view truncated(std::string_view line, std::size_t width) {
    std::size_t characters = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (!continues_character(line[i]) && ++characters > width) {
            return line.substr(0, i);
        }
    }
    return line;
}

}  // namespace

bool stdin_is_terminal() {
    return ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

TerminalMode::TerminalMode(tcflag_t cleared) {
    if (!stdin_is_terminal() || ::tcgetattr(STDIN_FILENO, &before) != 0) {
        return;
    }
    struct sigaction action {};
    action.sa_handler = restore_and_end;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        ::sigaction(kSignals.at(i), nullptr, &handlers_before.at(i));
        if (handlers_before.at(i).sa_handler != SIG_IGN) {
            ::sigaction(kSignals.at(i), &action, nullptr);
        }
    }
    termios changed = before;
    changed.c_lflag &= ~cleared;
    changed_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &changed) == 0;
}

TerminalMode::~TerminalMode() {
    if (!changed_) {
        return;
    }
    restore_terminal();
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        ::sigaction(kSignals.at(i), &handlers_before.at(i), nullptr);
    }
}

std::optional<std::size_t> output_width() {
    return ::isatty(STDOUT_FILENO) == 1 ? std::optional<std::size_t>(size().ws_col) : std::nullopt;
}

bool can_ask() {
    return stdin_is_terminal() && ::isatty(STDERR_FILENO) == 1;
}

bool ask(std::string_view question) {
    std::cerr << question << " [y/N] " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    std::ranges::transform(answer, answer.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return answer == "y" || answer == "yes";
}

std::string read_hidden_line(std::string_view prompt) {
    std::string line;
    {
        // The prompt comes second: what is typed after it is never shown.
        const TerminalMode hidden(ECHO);
        std::cerr << prompt << std::flush;
        std::getline(std::cin, line);
    }
    std::cerr << '\n';
    return line;
}

Screen::Screen(bool in_place) : terminal_(in_place && supports_cursor()), separate_(in_place) {
    if (terminal_ && stdin_is_terminal()) {
        keys_.emplace(ECHO | ICANON);
    }
}

std::size_t Screen::lines_left(std::size_t others) const {
    if (!terminal_) {
        return std::numeric_limits<std::size_t>::max();
    }
    const std::size_t lines = size().ws_row;
    return std::max(lines, others + 1) - others;
}

bool Screen::wait(std::chrono::milliseconds time) {
    if (!keys_) {
        std::this_thread::sleep_for(time);
        return true;
    }
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + time;
    for (auto now = Clock::now(); now < end; now = Clock::now()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now);
        pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
        if (::poll(&input, 1, static_cast<int>(left.count())) == 1) {
            char key = 0;
            if (::read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q') {
                return false;
            }
        }
    }
    return true;
}

void Screen::show(std::string_view text) {
    if (!terminal_) {
        require_print(separate_ && shown_ ? "\n" + std::string(text) : std::string(text));
        shown_ = true;
        return;
    }
    // Overwrite each line: clearing the screen first would flicker.
    std::string output(shown_ ? "" : kClear);
    output += kHome;
    while (!text.empty()) {
        const auto end = text.find('\n');
        output.append(truncated(text.substr(0, end), size().ws_col - 1U))
            .append(kClearLine)
            .append("\r\n");
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    require_print(output.append(kClearBelow));
    shown_ = true;
}

}  // namespace tollgate::cli
