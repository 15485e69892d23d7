#pragma once

#include <string>

#include "core/io/pickle.h"

namespace osprey::internal {

// What a pickle may call: function(args), args a tuple. Nothing is executed: each known name has its own
// meaning here. Throws UserError for an unknown name or wrong arguments.
PickleObject* pickle_call(const PickleObject& function, PickleObject& args, const std::string& where,
                          PickleArena& arena);

// A storage, from the persistent id ("storage", type, key, location, numel[, view]).
PickleObject* pickle_storage(const PickleObject& id, const std::string& where, PickleArena& arena);

}  // namespace osprey::internal
