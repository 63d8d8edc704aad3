# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Scarcity/words.bash
source "$tests/Scarcity/words.bash"

go cafe
# Too few to begin with.
for few in 6 10; do
  status=0
  (ulimit -n $few && exec "$bin/roamwardd" --policies "$policies" --state-dir "$scene/state" --socket "$ROAMWARD_SOCKET" "${inputs[@]}" 2>few.log) ||
    status=$?
  grep -q 'Too many open files.*LimitNOFILE=' few.log && say "$status" || cat few.log
done
start_agent
tunnel_is corp connected
process=$(agent_pid) index=$(link_index corp)
limit() { prlimit --pid "$process" --nofile="$1": ; }
limit 3
# Any change makes it look.
ip address add 198.51.100.99/32 dev wlan0
within 5 grep -q 'cannot be observed: Too many open files.*LimitNOFILE=' agent.log
# Somebody waits for an answer all the while, and something of ours is removed.
roamward status >status.txt &
asking=$!
ip rule del priority 21750
locked && say locked
before=$(ticks)
sleep 2 # no event: the processor time of two seconds
(($(ticks) - before < 60)) && say calm || say "busy: $(($(ticks) - before))"
[[ $(link_index corp) == "$index" ]] && say 'still up'
ip rule | grep -q '^21750:' || say 'not repaired yet'
limit 1024
wait $asking && grep -q connected status.txt && say answered
within 10 eval 'ip rule | grep -q "^21750:"'
within 10 intranet_loads
[[ $(agent_pid) == "$process" && $(link_index corp) == "$index" && $(field corp state) == connected ]] && say 'the same'
stop_agent
