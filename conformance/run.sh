#!/usr/bin/env bash
# Starts a server on free ports over a temporary directory, runs every client of
# the conformance suite against it, prints a line per client and the sum.
set -uo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
bin/loam serve --data "$dir" --flight 127.0.0.1:0 --http 127.0.0.1:0 >"$dir.log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$dir" "$dir.log"' EXIT
for _ in $(seq 50); do
  grep -q 'HTTP ' "$dir.log" && break
  sleep 0.1
done
LOAM_URI=$(awk '/Flight SQL/{print $3}' "$dir.log")
LOAM_HTTP=$(awk '/HTTP/{print $2}' "$dir.log")
export LOAM_URI LOAM_HTTP LOAM_PID=$server
[ -n "$LOAM_URI" ] || { cat "$dir.log"; exit 1; }
lines=$(mktemp)
.venv/bin/python conformance/python/run.py "$@" | tee "$lines"
(cd conformance/adbcgo && go test -count=1 ./... -v 2>&1) | awk -f conformance/adbcgo/count.awk | tee -a "$lines"
conformance/jdbc/run.sh "$@" | tee -a "$lines"
[ $# = 0 ] && conformance/rest/run.sh | tee -a "$lines"
awk '/^[a-z-]+: [0-9]+ passed/{p+=$2; f+=$4; s+=$6} END{printf "conformance: %d passed, %d failed, %d skipped\n", p, f, s; exit f>0 || p<150}' "$lines"
