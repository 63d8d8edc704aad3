# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

if [[ -n "$HOW" ]]; then
  mkdir "$scene/poor"
  printf '#!/bin/sh\nexec setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "%s/roamwardd" "$@"\n' "$bin" >"$scene/poor/roamwardd"
  chmod +x "$scene/poor/roamwardd"
  ln -s "$bin/roamward" "$scene/poor/roamward"
  bin=$scene/poor
fi
as() { runuser -u nobody -- "$@"; }
holder() { sed "s/taken by .* (process ${taker}[^)]*)/taken by IT/; s/taken by [^,]*/taken by IT/"; }
bound() { within 5 eval "[[ -s $1 ]]"; taker=$(cat "$1"); }
sed -i '/^.Interface/a ListenPort = 47001' "$policies"/corp.conf
install -o nobody -d "$scene/taken"
cat >"$scene/taken/binder" <<'END'
import os, socket, sys, time
taken = socket.socket(getattr(socket, sys.argv[1]), socket.SOCK_DGRAM)
taken.bind(("", 47001))
open(sys.argv[2], "w").write(str(os.getpid()))
time.sleep(600)
END
as python3 "$scene/taken/binder" AF_INET "$scene/taken/four" &
bound "$scene/taken/four"
go cafe
start_agent
tunnel_is corp connected
roamward status --json | jq -r '.tunnels[0].notes[] | select(.code == "port-taken").text' | holder
roamward status | grep -c 'UDP port 47001 is taken' || true
dry diff >/dev/null && echo "no difference"
say "$(counter repairs)"
kill "$taker"
within 5 eval '! ss -Hlun "sport = :47001" | grep . >/dev/null'
roamward down corp >/dev/null; tunnel_is corp disconnected
roamward up corp >/dev/null; tunnel_is corp connected
ss -Hlun 'sport = :47001' | grep . >/dev/null && echo "and has its own again"
stop_agent
# A peer that begins the sessions itself needs this port.
sed -i '/^Endpoint/d' "$policies"/corp.conf
as python3 "$scene/taken/binder" AF_INET6 "$scene/taken/six" &
bound "$scene/taken/six"
start_agent
within 3 field_is corp '"failure-code"' port-taken
field corp failure | holder
kill "$taker"
