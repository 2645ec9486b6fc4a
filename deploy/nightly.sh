#!/usr/bin/env bash
# One night: append what was delivered, verify the store, score, report, monitor.
#
#   deploy/nightly.sh NIGHT [DELIVERY...]
#
# NIGHT is the date as of which accounts are scored, such as 2024-06-22: events at or after it are not seen. A DELIVERY
# is a file, or the address of a database with GTEA_QUERY. Without one, nothing is appended.
#
#   GTEA_STORE    the store (needed)
#   GTEA_MODEL    the model (needed)
#   GTEA_OUT      where the folder NIGHT/ with the results goes (needed)
#   GTEA_QUERY    the SQL to send, if the delivery is the address of a database
#   GTEA_LABELS   labels that came in, for gtea monitor
#   GTEA_APPEND, GTEA_SCORE, GTEA_REPORT, GTEA_MONITOR   more options of each step, separated by blanks
#   GTEA          the command, gtea by default
#
# Run it again after a failure, at whatever step and however it ended: it does what is missing, and the results are the
# same. A delivery is appended once: the store names what it has read, in the same write that adds the events. All other
# steps write the same files again.
#
# Exit code 0: done. 6: done, and the model is outside of a limit. 75: the same night's or another run is still going.
# 2 to 5: the step that is named failed, and the later ones were not begun.
set -euo pipefail
export LC_ALL=C.UTF-8

usage() {
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
}

[ $# -ge 1 ] || usage
case $1 in -*) usage ;; esac
night=$1
shift
: "${GTEA_STORE:?must name the store}" "${GTEA_MODEL:?must name the model}" "${GTEA_OUT:?must name a folder}"
gtea=${GTEA:-gtea}
case $night in
  "" | */* | .*) echo "nightly: NIGHT must be a date such as 2024-06-22 (got '$night')" >&2 && exit 2 ;;
esac

here=$GTEA_OUT/$night
mkdir -p "$here"
# The lock ends with the process, however that ends.
exec 9> "$GTEA_OUT/.nightly.lock"
flock -n 9 || { echo "nightly: another run is still going on in $GTEA_OUT" >&2 && exit 75; }

step() {
  echo "nightly $night: $1" >&2
  shift
  "$@" 9>&-
}
failed() {
  echo "nightly $night: $1 failed with exit code $2; run this command again" >&2
  exit "$2"
}

# shellcheck disable=SC2086  # options are separated by blanks
if [ $# -gt 0 ]; then
  query=()
  [ -z "${GTEA_QUERY:-}" ] || query=(--query "$GTEA_QUERY")
  step append "$gtea" append "$GTEA_STORE" "$@" "${query[@]}" --once ${GTEA_APPEND:-} > "$here/append.txt" \
    || failed append $?
fi

step verify "$gtea" verify "$GTEA_STORE" > "$here/verify.txt" || failed verify $?

# The scores of the latest night before this one. Names of nights sort by date.
previous=()
for folder in "$GTEA_OUT"/*/; do
  name=$(basename "$folder")
  if [[ $name < $night && -f $folder/scores.parquet ]]; then
    previous=(--since "${folder}scores.parquet")
  fi
done
# shellcheck disable=SC2086
step score "$gtea" score "$GTEA_MODEL" "$GTEA_STORE" --as-of "$night" "${previous[@]}" --no-verify \
  --out "$here/scores.parquet" --json ${GTEA_SCORE:-} > "$here/.score.json.draft" || failed score $?
mv -f "$here/.score.json.draft" "$here/score.json"

# shellcheck disable=SC2086
step report "$gtea" report "$GTEA_MODEL" "$GTEA_STORE" --as-of "$night" --no-verify --out "$here/report" \
  ${GTEA_REPORT:-} > "$here/report.txt" || failed report $?

labels=()
[ -z "${GTEA_LABELS:-}" ] || labels=(--labels "$GTEA_LABELS")
code=0
# shellcheck disable=SC2086
step monitor "$gtea" monitor "$GTEA_MODEL" "$GTEA_STORE" --as-of "$night" --no-verify "${labels[@]}" \
  --out "$here/monitor" ${GTEA_MONITOR:-} > "$here/monitor.txt" || code=$?
[ "$code" = 0 ] || [ "$code" = 6 ] || failed monitor "$code"
echo "nightly $night: done$([ "$code" = 0 ] || echo ", and the model is outside of a limit"); results in $here" >&2
exit "$code"
