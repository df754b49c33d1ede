#!/bin/sh
# Runs the trial in the foreground, over a broker on a free port of this machine: every member in a
# process of its own, then verification, the result and the report. CHOIR names the binary.
set -eu
choir=${CHOIR:-choir}
case $choir in
/*) ;;
*/*) choir=$PWD/$choir ;;
esac
cd "$(dirname "$0")"
command -v "$choir" > /dev/null || { echo "run.sh: no binary $choir; set CHOIR to its path" >&2; exit 4; }

pids=
stop() {
  for pid in $pids; do kill "$pid" 2> /dev/null || :; done
  for pid in $pids; do wait "$pid" 2> /dev/null || :; done
  pids=
}
trap stop EXIT
trap 'exit 1' INT TERM HUP

rm -f broker/url
"$choir" broker --listen 127.0.0.1:0 --store broker/streams --token-file broker/token \
  > broker/url 2> broker/log &
broker=$!
pids=$broker
tries=0
until [ -s broker/url ]; do
  tries=$((tries + 1))
  if [ $tries -gt 300 ] || ! kill -0 $broker 2> /dev/null; then
    echo "run.sh: the broker did not start:" >&2
    cat broker/log >&2
    exit 2
  fi
  sleep 0.1
done
CHOIR_BUS_URL=$(cat broker/url)
export CHOIR_BUS_URL
echo "broker at $CHOIR_BUS_URL; {{.Parties}} parties, {{.Nodes}} compute nodes, 1 aggregator"

members=
start() { # start ROLE NAME
  "$choir" "$1" --config "sites/$2/site.toml" 2> "sites/$2/log" &
  pids="$pids $!"
  members="$members $!:$2"
}
{{range .Members}}start {{.Role}} {{.Name}}
{{end}}
shown= ticks=0
while [ -n "$members" ]; do
  left=
  for m in $members; do
    if kill -0 "${m%%:*}" 2> /dev/null; then
      left="$left $m"
    elif ! wait "${m%%:*}"; then
      echo "run.sh: ${m#*:} failed; the end of sites/${m#*:}/log:" >&2
      tail -n 5 "sites/${m#*:}/log" >&2
      exit 1
    fi
  done
  members=$left
  rounds=$(grep -c '"event":"result"' sites/aggregator/log || :)
  ticks=$((ticks + 1))
  if [ "$rounds" != "$shown" ] || [ $((ticks % 4)) -eq 0 ]; then
    echo "$rounds rounds done"
    shown=$rounds
  fi
  [ -z "$members" ] || sleep 0.5
done
stop

"$choir" verify result
{{if .Show}}"$choir" {{.Show}} result
{{else}}echo "result/model.csv has the numbers"
{{end}}"$choir" report result --out "$PWD/result/report.html"
