#include "core/registry/registry.h"

#include "tests/core/config/config_files.h"
#include "tests/core/registry/toy.h"

namespace osprey {
namespace {

TEST(Registry, BuildsWhatTypeNames) {
  const ConfigNode cfg = parse_config("toy: {type: Seven, plus: 1}\n", "x.yaml");
  EXPECT_EQ(build<Toy>(cfg["toy"])->value(), 8);
  EXPECT_NO_THROW(require_all_read(cfg));
}

TEST(Registry, AnUnknownTypeListsTheRegisteredOnes) {
  const ConfigNode cfg = parse_config("toys:\n  - type: Sevn\n  - {plus: 1}\n  - Seven\n", "x.yaml");
  EXPECT_EQ(error_of([&] { build<Toy>(cfg["toys"].at(0)); }).substr(0, 64),
            "x.yaml:2:11: toys[0].type: unknown toy 'Sevn'; registered: Plugi");
  EXPECT_EQ(error_of([&] { build<Toy>(cfg["toys"].at(1)); }), "x.yaml:3:5: toys[1]: missing key 'type'");
  EXPECT_EQ(error_of([&] { build<Toy>(cfg["toys"].at(2)); }),
            "x.yaml:4:5: toys[2]: expected a map (key: value), got the string 'Seven'");
}

TEST(Registry, TheTypesOfAllRegistriesAreListedWithTheirFiles) {
  for (const RegisteredType& type : registered_types()) {
    if (type.type != "Seven") continue;
    EXPECT_EQ(type.kind, "toy");
    EXPECT_EQ(type.file, "tests/core/registry/toy.cc");
    const ConfigNode cfg = parse_config("plus: 1");
    type.build(cfg);
    EXPECT_NO_THROW(require_all_read(cfg));
    return;
  }
  FAIL() << "Seven is not listed";
}

}  // namespace
}  // namespace osprey
