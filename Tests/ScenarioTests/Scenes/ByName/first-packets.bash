# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/by-name.bash
source "$tests/by-name.bash"

go cafe
serve_names 200
watch_ways
# Without the agent every packet is seen outside.
say "$(first_packets 1 5 shop.example) $(ways)"
take_both
cp -a "$file" "$scene/was"
start_agent
tunnel_is corp connected
within 5 led
say "$(first_packets 1 200 shop.example) $(ways)"
say "again $(first_packets 1 200 shop.example) $(ways)"
say "aliases $(first_packets 1 20 shop.example cname) $(ways)"
say "others $(first_packets 1 5 video.example) $(ways)"
say "routes $(by_name_routes | wc -l)"
dry diff >/dev/null && say "no drift"
roamward down corp --wait 20 >/dev/null
say "left $(by_name_routes | wc -l) $(ip rule | grep -c 'proto 82' || true)"
say "down $(first_packets 1 2 shop.example) $(ways)"
roamward resume corp >/dev/null
tunnel_is corp connected
# Programs may still have the answers from before.
say "back $(by_name_routes | wc -l)"
stop_agent >/dev/null
cmp "$scene/was" "$file" && say "as before $(by_name_routes | wc -l)"
