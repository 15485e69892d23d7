# Sourced by the launchers tools/train, tools/test, ...: builds //tools:NAME_main when something changed, then becomes it.

# Whether this machine has an NVIDIA GPU (the last one: of Windows, seen from its Linux).
osprey_has_gpu() { [ -e /dev/nvidia0 ] || [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; }

# Whether it has a toolkit to build for one; bazel/cuda_toolkit.bzl looks in the same places.
osprey_has_nvcc() {
  if [ -n "${CUDA_HOME:-}" ]; then [ -x "$CUDA_HOME/bin/nvcc" ]; return; fi
  [ -x /usr/local/cuda/bin/nvcc ] || [ -x /opt/cuda/bin/nvcc ] || [ -x /usr/lib/cuda/bin/nvcc ]
}

# As many compilers at once as there are cores, and 2 GiB of memory for each.
osprey_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemTotal:/ { print int($2 / 2097152) }' /proc/meminfo)
  [ "$memory" -lt 1 ] && memory=1
  echo $((cores < memory ? cores : memory))
}

# osprey_cuda_flags: what Bazel needs for a build with CUDA, one flag a line.
osprey_cuda_flags() {
  echo --config=cuda
  [ -z "${OSPREY_CUDA_ARCHS:-}" ] || echo "--define=cuda_archs=$OSPREY_CUDA_ARCHS"
}

# osprey_build TARGET...: brings the targets up to date. Silent when they are; errors of the compiler are shown.
osprey_build() {
  local flags=("--jobs=$(osprey_jobs)") cuda=()
  mapfile -t cuda < <(osprey_cuda_flags)
  case "${OSPREY_BUILD:-auto}" in
    cuda) flags+=("${cuda[@]}") ;;
    auto)
      if osprey_has_gpu && osprey_has_nvcc; then
        flags+=("${cuda[@]}")
      elif osprey_has_gpu; then
        echo "There is a GPU, but no CUDA toolkit: building for the CPU alone (CUDA_HOME says where nvcc is)" >&2
      fi ;;
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
    # Of several processes that mpirun or srun starts here one builds, the others find it done.
    exec 9<"$osprey_root"
    flock 9
    "$osprey_root/tools/setup" || exit $?
    osprey_build "//tools:${name}_main" 9<&- || exit $?
    exec 9<&-
  fi
  export OSPREY_ROOT=$osprey_root
  exec "$osprey_root/bazel-bin/tools/${name}_main" "${args[@]}"
}

osprey_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
