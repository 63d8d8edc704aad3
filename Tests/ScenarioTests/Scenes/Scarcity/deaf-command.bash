# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
remember
start_agent
within 5 eval 'ip -br address show vpn0 | grep -q 10.99'
SECONDS=0
stop_agent
# It has two seconds to end by itself; without that it would be five minutes, or the ten seconds that a stop may take at most.
((SECONDS < 9)) && say soon
cat calls
as_before
