# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
remember
start_agent
tunnel_is vpn connected
begun=${EPOCHREALTIME/./}
stop_agent
took=$((${EPOCHREALTIME/./} - begun))
# Not cut short it would take ten seconds, and end with 1.
((took > 3900000 && took < 9000000)) && say "cut short" || say "$took"
# What has ended can be signalled until the first process of the lab has taken note of it.
for file in down.pid child.pid; do within 2 not kill -0 "$(<$file)" && say ended; done
pgrep -f '^sleep 30[1-4]' || say 'no child'
grep -q 'vpn: its programs did not end within 4 s' agent.log && say told
as_before
