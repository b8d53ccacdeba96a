#include "module/cli/terminal/terminal_mode.hpp"

#include <unistd.h>

#include <array>
#include <csignal>

namespace tollgate::cli {

namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// Where a signal handler finds them.
termios before{};
std::array<struct sigaction, kSignals.size()> handlers_before{};

void restore_terminal() {
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

extern "C" void restore_and_end(int signal) {
    restore_terminal();
    // It was reset to the default by SA_RESETHAND and comes when this handler returns.
    static_cast<void>(std::raise(signal));
}

}  // namespace

bool reads_terminal() {
    return ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

TerminalMode::TerminalMode(tcflag_t cleared) {
    if (!reads_terminal() || ::tcgetattr(STDIN_FILENO, &before) != 0) {
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

}  // namespace tollgate::cli
