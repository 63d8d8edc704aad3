# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

watch_places
go cafe; see_leaks; go home
export SETTLE=6s
start_agent
within 20 field_is corp decision disconnect
within 10 not nft list table inet roamward
start_strays
within 20 all_leaked
# The link comes first and takes nothing's place; so the network is settling when the café does.
ip link set wlan0 up; ip address add 198.51.100.23/24 dev wlan0; sleep 0.5
nft list table inet roamward >/dev/null 2>&1 || say "open at home"
forget_leaks
ip route replace default via 198.51.100.1 dev wlan0
within 10 nft list table inet roamward >/dev/null
say "closed while it settles"
on cafe nft -j list counters table inet watch | jq -r '[.nftables[].counter.packets // empty] | add' >at-the-cafe
# What was sent before the table may still wait for the router's hardware address.
within 5 is_quiet
forget_leaks; strays_try
say "$(leaked)"
echo Cafe >"$laptop"/ssid
tunnel_is corp connected
stop_strays
