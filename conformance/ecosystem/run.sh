#!/usr/bin/env bash
# Starts a server over a temporary directory and lets each outside reader of Lance
# open what it wrote: the newest pylance with its friends, then pylance 12.
# Arguments name the readers to try (pylance, daft, duckdb, lance-ray, …).
set -uo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$dir"' EXIT

bin/loam serve --data "$dir/data" --flight 127.0.0.1:0 --http 127.0.0.1:0 >"$dir/log" 2>&1 &
server=$!
for _ in $(seq 100); do
  grep -q 'HTTP ' "$dir/log" && break
  sleep 0.1
done
http=$(awk '/HTTP/{print $NF}' "$dir/log")
[ -n "$http" ] || { cat "$dir/log"; exit 1; }

export HF_HOME="$dir/hf" RAY_DEDUP_LOGS=0 RAY_TMPDIR="$dir/ray" PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 DO_NOT_TRACK=true
quiet='^[0-9-]+ [0-9:,]+.(INFO|WARNING)|^Generating |warnings.warn|^$'
{
  .venv-ecosystem/bin/python conformance/ecosystem/check.py "$http" "$@" 2>"$dir/err" || cat "$dir/err"
  .venv/bin/python conformance/ecosystem/check.py "$http" pylance 2>>"$dir/err" | sed 's/^pylance/pylance-12/'
} | grep -vE "$quiet" | awk '
  /^ecosystem-lance: / { p += $2; f += $4; s += $6; n++; next }
  { print }
  END { if (n < 2) f++; printf "ecosystem-lance: %d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0 }'
