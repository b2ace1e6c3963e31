#!/usr/bin/env bash
# Sends the requests that Schemathesis makes of /v1/openapi.json to the server at
# LOAM_HTTP, for LOAM_FUZZ_SECONDS (60), and prints a line with the sum of the
# operations. LOAM_FUZZ_SEED (1) is another series.
set -uo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-../../.venv/bin/python}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
export SCHEMATHESIS_HOOKS=hooks
"$python" hooks.py || { echo "rest-fuzz: 0 passed, 1 failed, 0 skipped"; exit 1; }
PYTHONPATH=. "$python" -m schemathesis.cli --config-file schemathesis.toml run "$LOAM_HTTP/v1/openapi.json" \
  --max-time "${LOAM_FUZZ_SECONDS:-60}" --seed "${LOAM_FUZZ_SEED:-1}" --warnings off --no-color >"$out" 2>&1
code=$?
[ $code = 0 ] || cat "$out"
awk -v code=$code '
  /^ +Tested:/ {tested = $2}
  / generated/ {cases = $1}
  /^_+ (GET|POST|PUT|PATCH|DELETE) / && !seen[$0]++ {failed++}
  END {
    if (code != 0 && failed == 0) failed = 1
    printf "rest-fuzz sent %d requests\n", cases
    printf "rest-fuzz: %d passed, %d failed, 0 skipped\n", (tested > failed ? tested - failed : 0), failed
  }' "$out"
exit $code
