# Sourced by tests/run and tests/gpu/run after tools/launch.sh: larger fixtures and real images lie beside the
# repository on the developers' machines; a lone clone tests itself without. Exports OSPREY_GOLDEN_DIR and
# OSPREY_COCO128_DIR where they are.
shared=$osprey_root/../shared
if [ -z "${OSPREY_GOLDEN_DIR:-}" ] && [ -d "$shared/golden" ]; then
  OSPREY_GOLDEN_DIR=$(readlink -f "$shared/golden")
  export OSPREY_GOLDEN_DIR
fi
if [ -z "${OSPREY_COCO128_DIR:-}" ] && [ -d "$shared/data/coco128" ]; then
  OSPREY_COCO128_DIR=$(readlink -f "$shared/data/coco128")
  export OSPREY_COCO128_DIR
fi
