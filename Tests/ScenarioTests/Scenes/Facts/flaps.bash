# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go home
SETTLE=500ms start_agent
roamward monitor --json >events.json 2>/dev/null &
monitor=$!
within 2 grep -q decision agent.log
before=$(count_in_log ' decision ')
start=${EPOCHREALTIME/./}
for _ in {1..100}; do
  ip link set eth0 down
  ip link set eth0 up
  ip route replace default via 192.0.2.1 dev eth0
done
say "$(((${EPOCHREALTIME/./} - start) / 1000))"
within 3 field_is corp rule.index 1
at_rest
say "$(($(count_in_log ' decision ') - before))"
# The rule may have been that of a moment between two changes.
within 3 field_is corp decision disconnect
say "$(field corp decision) $(field corp state)"
go cafe
tunnel_is corp connected
kill $monitor
