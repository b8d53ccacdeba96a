#pragma once

namespace tollgate::gateway {

class Engine;

/// Sends the plan tables of the engine's Redis to its hash `plans`. An error is logged as a
/// warning. Throws std::bad_alloc.
void publish_plans(Engine& engine);

}  // namespace tollgate::gateway
