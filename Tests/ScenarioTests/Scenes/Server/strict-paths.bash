# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Server/words.bash
source "$tests/Server/words.bash"

for link in all wlan0; do echo 1 >/proc/sys/net/ipv4/conf/$link/rp_filter; done
start_agent
tunnel_is corp connected
roamward status | grep -o '.answer-by-arrival. has no effect' || true
roamward status --json | jq -r '.tunnels[0].notes[] | select(.code == "unanswered").text' | grep -o 'cure: .*'
within 5 ways_are "- - 10.77.0.2"
sysctl -qw net.ipv4.conf.all.rp_filter=2
within 10 ways_are "host container 10.77.0.2"
within 5 eval '! roamward status | grep "has no effect" >/dev/null'
stop_agent
