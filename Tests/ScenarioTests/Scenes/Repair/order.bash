# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

go cafe
ROAMWARD_FAULT_LOG=$scene/places start_agent
tunnel_is corp connected
# Stopped, so that it finds all of it at once.
kill -STOP "$(agent_pid)"
nft flush ruleset
ip rule flush; ip -6 rule flush
for family in -4 -6; do ip $family rule add priority 32766 lookup main; done
ip route flush table 21750; ip -6 route flush table 21750
ip address flush dev corp
before=$(wc -l <"$scene"/places)
kill -CONT "$(agent_pid)"
again() { nft list table inet roamward && ip rule show priority 21750 | grep 21750 && ip -6 rule show priority 21750 | grep 21750 && intranet_loads; }
within 10 again >/dev/null
tail -n +$((before + 1)) "$scene"/places | grep ' before ' | cut -d ' ' -f 3-4 | uniq >made
head -n 1 made
awk '/ip address|ip route|ip rule/ { n++ } END { print (n >= 3) }' made
tail -n 1 made
field corp state
