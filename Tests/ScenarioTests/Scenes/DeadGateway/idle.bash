# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go home
ip neigh flush all
start_agent
within 2 field_is corp decision disconnect
# It arrives, with nothing to send.
go nothing
sleep 0.5
ip neigh flush all
go home
ip neigh flush all
began=${EPOCHREALTIME/./}
within 2 field_is corp decision disconnect
echo "decided after $(((${EPOCHREALTIME/./} - began) / 1000)) ms" >&2
sleep 7
say "$(field corp state) $(count_in_log 'to=connecting')"
