# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
remember
# The agent sees that the first table is taken. It has no reason to look into the second one before.
for table in 21000 21001; do ip route add 10.77.0.0/16 dev wlan0 table $table proto static; done
start_agent
within 10 eval '[[ $(field corp failure) == *"File exists"* ]]'
kill -STOP "$(agent_pid)"
[[ -z $(ip rule show priority 21000)$(ip rule show priority 21001) ]] && say 'no rule'
grep -q 10.77.0.1 "$laptop"/resolv.conf || say 'no name servers'
kill -CONT "$(agent_pid)"
[[ -n $(ip route show table 21000 proto static) && -n $(ip route show table 21001 proto static) ]] && say 'theirs is untouched'
for table in 21000 21001; do ip route del 10.77.0.0/16 table $table proto static; done
tunnel_is corp connected
within 5 intranet_loads
stop_agent
as_before
