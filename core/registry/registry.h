#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/config/config.h"

namespace osprey {

namespace internal {
// Throws the UserError "where: model.bbox_head.loss_cls.type: unknown loss 'FocalLos'. registered: ... Did
// you mean ...?"
[[noreturn]] void unknown_type(const ConfigNode& cfg, const std::string& kind, const std::string& type,
                               const std::vector<std::string>& registered);
// Notes that two classes claim one name. Types register while their library is loaded, where nothing may be
// thrown: load_plugins() reports it, and build() when it happened in the program itself.
void duplicate_type(const std::string& kind, const std::string& type);
// Returns and forgets the message of the last duplicate; "" when there was none.
std::string take_duplicate_type();
// Throws Error when one was noted and not taken.
void require_unique_types();
}  // namespace internal

// One registered class, for tools that list them.
struct RegisteredType {
  std::string kind;  // "loss"
  std::string type;  // "FocalLoss"
  std::string file;  // that registers it, as the compiler saw it: "losses/focal_loss.cc"
  std::function<void(const ConfigNode&)> build;  // constructs one and throws it away
};
// Of all registries, by kind and type; those of plugins once they are loaded.
std::vector<RegisteredType> registered_types();

namespace internal {
void note_type(RegisteredType type);
}  // namespace internal

// The types of one kind (losses, hooks, ...) by their YAML `type` name. A type registers itself on the last
// line of its file; a plugin's types register when it is loaded. For each Base, instance() is specialised in
// exactly one .cc of core: an inline definition would give a plugin its own, empty registry.
// OSPREY_DECLARE_REGISTRY goes beside the Base, OSPREY_DEFINE_REGISTRY into its .cc.
template <typename Base>
class Registry {
 public:
  using Factory = std::function<std::unique_ptr<Base>(const ConfigNode&)>;

  static Registry& instance();

  bool add(const std::string& type, Factory factory, const std::string& file = "") {
    internal::note_type({kind_, type, file, [factory](const ConfigNode& cfg) { factory(cfg); }});
    if (!factories_.emplace(type, std::move(factory)).second) internal::duplicate_type(kind_, type);
    return true;
  }

  // Builds the object that `cfg.type` names. Throws UserError for an unknown type.
  std::unique_ptr<Base> build(const ConfigNode& cfg) const {
    internal::require_unique_types();
    const std::string type = cfg.get<std::string>("type");
    const auto found = factories_.find(type);
    if (found == factories_.end()) internal::unknown_type(cfg, kind_, type, names());
    return found->second(cfg);
  }

  bool has(const std::string& type) const { return factories_.count(type) != 0; }
  std::vector<std::string> names() const {  // sorted
    std::vector<std::string> names;
    for (const auto& [name, factory] : factories_) names.push_back(name);
    return names;
  }
  const std::string& kind() const { return kind_; }  // "loss", for messages

  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

 private:
  std::string kind_;
  std::map<std::string, Factory> factories_;
};

// Builds from the registry of Base: build<Loss>(cfg["loss_cls"]).
template <typename Base>
std::unique_ptr<Base> build(const ConfigNode& cfg) {
  return Registry<Base>::instance().build(cfg);
}

}  // namespace osprey

#define OSPREY_DECLARE_REGISTRY(Base) \
  template <>                         \
  ::osprey::Registry<Base>& ::osprey::Registry<Base>::instance()
#define OSPREY_DEFINE_REGISTRY(Base, kind)                         \
  template <>                                                      \
  ::osprey::Registry<Base>& ::osprey::Registry<Base>::instance() { \
    static ::osprey::Registry<Base> registry(kind);                \
    return registry;                                               \
  }                                                                \
  static_assert(true)
// On the last line of a type's file: OSPREY_REGISTER(Hook, EMAHook); the type is constructed from its
// ConfigNode.
#define OSPREY_REGISTER(Base, Type) OSPREY_REGISTER_AS(Base, Type, #Type)
// The same under another name, e.g. for a plugin's edited copy of a class of core.
#define OSPREY_REGISTER_AS(Base, Type, name)                                                                \
  [[maybe_unused]] static const bool osprey_registered_##Type = ::osprey::Registry<Base>::instance().add(   \
      name,                                                                                                 \
      [](const ::osprey::ConfigNode& cfg) -> std::unique_ptr<Base> { return std::make_unique<Type>(cfg); }, \
      __FILE__)
