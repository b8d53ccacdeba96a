#include "module/cli/commands/run.hpp"

int main(int argc, char** argv) {
    return tollgate::cli::run(argc, argv);
}
