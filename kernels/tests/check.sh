#!/usr/bin/env bash
# Builds the library's sources with sanitizers and runs them on random shapes against plain loops.
# usage: [SANITIZE=thread] check.sh BUILD_FOLDER [NUM_CASES]
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$1
mkdir -p "$build"
flags=(-std=c++17 -O1 -g -ffp-contract=fast -Wall -Wextra -Werror -Wno-psabi -fno-omit-frame-pointer
  "-fsanitize=${SANITIZE:-address,undefined}" -fno-sanitize-recover=all -pthread -I "$source/csrc")
jobs=()
for file in "$source"/csrc/*.cpp "$source"/tests/*.cpp; do
  "${CXX:-c++}" "${flags[@]}" -c "$file" -o "$build/$(basename "$file" .cpp).o" &
  jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job"; done
"${CXX:-c++}" "${flags[@]}" "$build"/*.o -o "$build/against_plain_loops"
"$build/against_plain_loops" "${2:-20}"
