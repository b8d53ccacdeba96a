#pragma once

#include "module/engine/engine_context.hpp"
#include "module/engine/quota/acquire_batcher.hpp"
#include "module/engine/quota/settlement.hpp"
#include "module/engine/quota/slices.hpp"
#include "module/engine/quota/unstored_units.hpp"

namespace tollgate::engine {

/// What a worker has to decide by the quotas in one Redis: how much a key may use.
struct QuotaParts : private Pinned {
    /// The context must outlive it.
    explicit QuotaParts(EngineContext& of_all) : context(of_all) {}

    EngineContext& context;
    UnstoredUnits unstored{context.statistics()};
    AcquireBatcher acquires{context, unstored};
    Slices slices{context, unstored};
    Settlement settlement{context, unstored, acquires, slices};
};

}  // namespace tollgate::engine
