# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
remember
( while sleep 0.02; do ip rule del priority 21000 2>/dev/null || true; done ) & war=$!
said() { roamward status | grep 'routing rules keep being taken away by another program'; }
within 20 said >/dev/null
steps=$(counter steps)
sleep 3 # no event: the steps of three seconds
(( $(counter steps) - steps < 6 )) && say "slowly"
kill $war; wait $war 2>/dev/null || true
# The tunnel itself has not been given up.
field corp state
within 30 eval 'ip rule show priority 21000 | grep 21000' >/dev/null
as_before
(( $(count_in_log 'routing rules keep being taken away') >= 1 )) && say "in the journal"
