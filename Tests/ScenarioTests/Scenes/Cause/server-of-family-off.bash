# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

sed -i 's|^Address.*|Address = 10.77.0.2/32\nDNS = fd00:77::1, 10.77.0.1|; s|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0, ::/0|' "$policies"/corp.conf
go cafe
sysctl -qw net.ipv6.conf.all.disable_ipv6=1
start_agent
tunnel_is corp connected
grep ^nameserver "$laptop"/resolv.conf
roamward status --json | jq -r '.tunnels[0].notes[] | select(.code == "family-off").text'
dry diff >/dev/null && echo "no difference"
