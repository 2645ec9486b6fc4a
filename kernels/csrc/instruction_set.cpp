#include "instruction_set.hpp"

#include <stdexcept>

namespace gtea {

extern const InstructionSet portable;
#if defined(__x86_64__)
extern const InstructionSet avx2;
extern const InstructionSet avx512;
#endif

const std::vector<const InstructionSet*>& instruction_sets() {
  static const std::vector<const InstructionSet*> runnable = [] {
    std::vector<const InstructionSet*> found;
#if defined(__x86_64__)
    for (const InstructionSet* candidate : {&avx512, &avx2})
      if (candidate->supported()) found.push_back(candidate);
#endif
    found.push_back(&portable);
    return found;
  }();
  return runnable;
}

const InstructionSet& instruction_set(const std::string& name) {
  for (const InstructionSet* candidate : instruction_sets())
    if (name == candidate->name) return *candidate;
  throw std::invalid_argument("this machine or build has no instruction set '" + name + "'");
}

}  // namespace gtea
