# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Probe/beacon.bash
source "$tests/Probe/beacon.bash"

open_beacon office home
know_beacon home 192.0.2.1
sed -i "s|sha256//A*=|$pin|" "$policies"/corp.yaml
go home
remember
start_agent
within 5 field_is corp decision disconnect
say "$(field corp state)"
roamward status | grep -A1 '^probes:'
roamward network | grep '^probe'
dry evaluate | cut -d' ' -f1-12
go cafe
tunnel_is corp connected
within 3 intranet_loads
roamward status --json | jq -r '.probes[] | "[\(.answer)]"'
go home
tunnel_is corp disconnected
within 3 as_before
# Another machine with the beacon's name and address, but not its key.
# shellcheck disable=SC2046 # several words
kill $(on home ss -Hltnp 'sport = :443' | grep -o 'pid=[0-9]*' | head -n 1 | cut -d= -f2)
within 2 not on home sh -c "ss -Hltn 'sport = :443' | grep -q ."
go nothing
open_beacon evil home
go home
tunnel_is corp connected
within 5 eval 'roamward status --json | jq -r ".probes[].reason" | found "does not match"'
roamward status --json | jq -r '.probes[] | "[\(.answer)] \(.reason)"'
say "asked $(grep -c 'query.*beacon' "$scene"/dns-home.log)"
