# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/by-name.bash
source "$tests/by-name.bash"

connect
say "$(first_packets 1 5 shop.example) $(ways)"
roamward down corp --wait 20 >/dev/null
within 5 led
say "$(first_packets 1 5 shop.example) $(busybox nslookup -type=a n1.shop.example 127.82.0.53 2>&1 | grep -o SERVFAIL)"
# Programs that have the addresses from before, also bound to the link of the network.
for address in 198.18.0.1 198.18.0.2; do
  busybox nc -w 1 "$address" 80 </dev/null >/dev/null 2>&1 || true
  curl --silent --max-time 1 --interface wlan0 "http://$address/" >/dev/null 2>&1 || true
done
say "$(ways)"
roamward resume corp >/dev/null
tunnel_is corp connected
say "$(first_packets 1 5 shop.example) $(ways)"
stop_agent >/dev/null
"$bin/roamwardd" --release --state-dir "$scene/state" 2>/dev/null || true
