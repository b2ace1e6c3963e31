#!/usr/bin/env bash
# Starts two servers on free ports over temporary directories, one that is open and
# one with TLS and users, runs every client of the conformance suite against them,
# prints a line per client and the sum.
set -uo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
servers=()
trap 'for s in "${servers[@]}"; do kill $s 2>/dev/null; wait $s 2>/dev/null; done; rm -rf "$dir"' EXIT

# serve NAME FLAGS... starts a server and waits until it has printed its addresses
# into NAME.log.
serve() {
  local name=$1
  shift
  bin/loam serve --data "$dir/$name" --flight 127.0.0.1:0 --http 127.0.0.1:0 "$@" >"$dir/$name.log" 2>&1 &
  servers+=($!)
  for _ in $(seq 100); do
    grep -q 'HTTP ' "$dir/$name.log" && return
    sleep 0.1
  done
  cat "$dir/$name.log"
  exit 1
}
address() { awk "/$2/{print \$NF}" "$dir/$1.log" | head -1; }

serve open
LOAM_URI=$(address open 'Flight SQL')
LOAM_HTTP=$(address open HTTP)
export LOAM_URI LOAM_HTTP

# Certificates and users of the second server: ca signs it, other is a stranger.
certificate() { # NAME SUBJECT [CA]
  local self=(-x509) signed=()
  [ $# = 3 ] && signed=(-CA "$dir/$3.crt" -CAkey "$dir/$3.key")
  openssl req "${self[@]}" -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$2" \
    -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' "${signed[@]}" -keyout "$dir/$1.key" -out "$dir/$1.crt" 2>"$dir/openssl.log"
}
if command -v openssl >/dev/null && certificate ca 'Loam test authority' && certificate server localhost ca && certificate other stranger; then
  echo 's:3 ü&' | bin/loam passwd ann >"$dir/users"
  bin/loam passwd --token ml/bot >>"$dir/users" 2>"$dir/token"
  serve secure --tls-cert "$dir/server.crt" --tls-key "$dir/server.key" --users "$dir/users"
  LOAM_TLS_URI=$(address secure 'Flight SQL')
  LOAM_TLS_HTTP=$(address secure HTTP)
  LOAM_TLS_TOKEN=$(cat "$dir/token")
  export LOAM_TLS_URI LOAM_TLS_HTTP LOAM_TLS_TOKEN LOAM_TLS_CA="$dir/ca.crt" LOAM_TLS_OTHER="$dir/other.crt" LOAM_TLS_PASSWORD='s:3 ü&'
fi

lines=$dir/lines
.venv/bin/python conformance/python/run.py "$@" | tee "$lines"
(cd conformance/adbcgo && go test -count=1 . -v 2>&1) | awk -v name=adbc-go -f conformance/adbcgo/count.awk | tee -a "$lines"
for client in spice grafana; do
  (cd conformance/adbcgo && go test -count=1 ./$client -v 2>&1) | awk -v name=$client-standin -f conformance/adbcgo/count.awk | tee -a "$lines"
done
conformance/jdbc/run.sh "$@" | tee -a "$lines"
[ $# = 0 ] && conformance/rest/run.sh | tee -a "$lines"
awk '/^[a-z-]+: [0-9]+ passed/{p+=$2; f+=$4; s+=$6} END{printf "conformance: %d passed, %d failed, %d skipped\n", p, f, s; exit f>0 || p<150}' "$lines"
