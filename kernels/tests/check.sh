#!/usr/bin/env bash
# Builds the library's sources with sanitizers and runs them on random shapes against plain loops; with PYTHON also
# through the binding, on hostile arguments.
# usage: [SANITIZE=thread] [PYTHON=python] check.sh BUILD_FOLDER [NUM_CASES [NUM_CALLS]]
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$1
binding=$build/binding/gtea_kernels
mkdir -p "$binding"
flags=(-std=c++17 -O1 -g -ffp-contract=fast -Wall -Wextra -Werror -Wno-psabi -fno-omit-frame-pointer -fPIC
  "-fsanitize=${SANITIZE:-address,undefined}" -fno-sanitize-recover=all -pthread -I "$source/csrc")
library=() jobs=()
for file in "$source"/csrc/*.cpp "$source"/tests/*.cpp; do
  object=$build/$(basename "$file" .cpp).o
  "${CXX:-c++}" "${flags[@]}" -c "$file" -o "$object" &
  jobs+=($!)
  [[ $file != "$source"/csrc/* ]] || library+=("$object")
done
for job in "${jobs[@]}"; do wait "$job"; done
"${CXX:-c++}" "${flags[@]}" "$build"/*.o -o "$build/against_plain_loops"
"$build/against_plain_loops" "${2:-20}"
[ -n "${PYTHON:-}" ] || exit 0
"${CXX:-c++}" "${flags[@]}" -shared "${library[@]}" -o "$binding/libgtea_kernels.so"
cp "$source"/src/gtea_kernels/*.py "$binding"
# Python was not built with the sanitizer, so its runtime must be loaded first, and with it what throws exceptions. Python
# itself frees little at its end, and a request for too much memory must fail as it does elsewhere.
first=$("${CXX:-c++}" -print-file-name=libasan.so):$("${CXX:-c++}" -print-file-name=libstdc++.so)
LD_PRELOAD=$first ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 GTEA_KERNELS=on \
  PYTHONPATH=$build/binding:$source/..${PYTHONPATH:+:$PYTHONPATH} \
  "$PYTHON" -m tests.nn.hostile_calls "$binding" "${3:-2000}"
