# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Name/words.bash
source "$tests/Name/words.bash"

go home
start_agent; within 10 field_is corp state disconnected
start_asking home; within 10 eval '(( $(seen_at home home) > 200 ))'
stage leaving; within 10 all_answered; go cafe; tunnel_is corp connected
within 10 by_tunnel; stage cafe; sleep 1 # no event: the questions of a second
# No event: the questions of the roam.
stage walking; within 10 all_answered; go mobile; sleep 0.7; tunnel_is corp connected
within 10 by_tunnel; stage mobile; sleep 1 # no event: the questions of a second
stage reconnecting; ip link del corp; within 10 eval '! field_is corp state connected || ip link show corp'; tunnel_is corp connected
within 10 by_tunnel; stage reconnected; sleep 1 # no event: the questions of a second
stage coming; within 10 all_answered; go home; within 10 field_is corp state disconnected
within 10 grep -qx 'nameserver 192.0.2.1' "$laptop"/resolv.conf
stage again; sleep 1 # no event: the questions of a second
stop_asking
for name in home cafe mobile reconnected again; do say "$name $(seen_of $name | sed 's/=[1-9][0-9]*//g')"; done
waits
for name in leaving walking reconnecting coming; do say "$name $(seen_of $name)"; done
