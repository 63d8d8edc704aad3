# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

sed -i 's|^Address.*|Address = 10.77.0.2/32, fd00:77::2/128|; s|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0, ::/0|' "$policies"/corp.conf
go cafe
sysctl -qw net.ipv6.conf.all.disable_ipv6=1
remember
start_agent
tunnel_is corp connected
within 3 intranet_loads
say "$(ip -6 address show dev corp | wc -l) $(counter repairs)"
dry diff >/dev/null || say differs
roamward status | grep -o 'IPv6 is switched off.*left out'
roamward status --json | jq -r '.tunnels[0].notes[].code' | grep family-off
stop_agent
as_before
# A tunnel of IPv6 alone cannot be up, and the reason is told at once.
sed -i 's|^Address.*|Address = fd00:77::2/128|' "$policies"/corp.conf
start_agent
within 3 field_is corp '"failure-code"' family-off && say "$(field corp failure)"
stop_agent
as_before
