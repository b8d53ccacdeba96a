#pragma once

#include "module/redis/topology/key_slot.hpp"

namespace tollgate::gateway {

class Engine;

/// Sends the plan tables of the engine's Redis to its hash `plans`, which is in this slot. An error
/// is logged as a warning. Throws std::bad_alloc.
void publish_plans(Engine& engine, redis::Slot slot);

}  // namespace tollgate::gateway
