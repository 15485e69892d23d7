# Sourced by the launchers tools/train, tools/test, ...: builds //tools:NAME_main when something changed, then becomes it.

# Whether this machine has an NVIDIA GPU and a toolkit to build for it.
osprey_has_gpu() {
  { [ -e /dev/nvidia0 ] || [ -e /dev/nvidiactl ]; } &&
    { [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ] || [ -x /opt/cuda/bin/nvcc ] || [ -x /usr/lib/cuda/bin/nvcc ]; }
}

# osprey_build TARGET...: brings the targets up to date. Silent when they are; errors of the compiler are shown.
osprey_build() {
  local flags=()
  case "${OSPREY_BUILD:-auto}" in
    cuda) flags=(--config=cuda) ;;
    auto) if osprey_has_gpu; then flags=(--config=cuda); fi ;;
    cpu) ;;
    *) echo "OSPREY_BUILD=$OSPREY_BUILD is unknown; allowed: auto, cpu, cuda" >&2; return 2 ;;
  esac
  (
    cd "$osprey_root"
    bazel --noblock_for_lock build --check_up_to_date "${flags[@]}" "$@" >/dev/null 2>&1 </dev/null && exit 0
    echo "Building Osprey (the first time takes a while; later only what changed) ..." >&2
    bazel build --ui_event_filters=-info --show_progress_rate_limit=10 "${flags[@]}" "$@" </dev/null >&2
  ) || { echo "the build failed (above)" >&2; return 1; }
}

# osprey_launch NAME ARGS...: `--no-build` among ARGS runs the binary as it is.
osprey_launch() {
  local name=$1 build=1 args=()
  shift
  for arg in "$@"; do
    if [ "$arg" = --no-build ]; then build=0; else args+=("$arg"); fi
  done
  if [ $build -eq 1 ]; then
    "$osprey_root/tools/setup" || exit $?
    osprey_build "//tools:${name}_main" || exit $?
  fi
  export OSPREY_ROOT=$osprey_root
  exec "$osprey_root/bazel-bin/tools/${name}_main" "${args[@]}"
}

osprey_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
