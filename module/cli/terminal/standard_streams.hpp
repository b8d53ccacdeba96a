#pragma once

namespace tollgate::cli {

/// Opens the standard streams that the caller has closed, so that a connection or a file does not
/// get their numbers: what is printed must not be sent to Redis. Reading from or writing to them
/// fails. Throws std::system_error.
void occupy_standard_streams();

}  // namespace tollgate::cli
