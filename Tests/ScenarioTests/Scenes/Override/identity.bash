# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
# As version 0.1 wrote it, before the router's hardware address was known.
cat >"$scene"/state/holds.json <<JSON
{"corp": {"up": false, "since": 1, "reason": null, "until": {"network":
  {"link": "wlan0", "type": "wifi", "ssid": "Cafe", "gateways": ["198.51.100.1"], "gateway-mac": null}}}}
JSON
start_agent
at_rest
say "$(field corp override)"
ip link set wlan0 down && ip link set wlan0 name wifi7 && ip link set wifi7 up && "$lab" lease cafe wifi7
at_rest
say "$(field corp override) under another name"
not fetch http://198.51.100.1/ 2>/dev/null
within 3 grep -q "02:00:5e:10:00:02" "$scene"/state/holds.json && say learnt
digest=$(roamward status --json | jq -r .primary.network.ipv4)
[[ $digest =~ ^[0-9a-f]{8}$ ]] && roamward status | found ", identity $digest" && say digest
stop_agent && start_agent && at_rest
say "$(field corp override) after a restart"
on cafe ip link set lan0 address 02:00:5e:10:00:99
ip neighbour flush dev wifi7 && not fetch http://198.51.100.1/ 2>/dev/null
within 3 field_is corp override null && say "another router"
[[ $(roamward status --json | jq -r .primary.network.ipv4) != "$digest" ]] && say "another digest"
