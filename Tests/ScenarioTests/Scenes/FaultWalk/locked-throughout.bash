# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/fault-walk.bash
source "$tests/fault-walk.bash"

take_everything
watch_cafe
go cafe
within 5 watch_sees && say watched
start_agent
tunnel_is corp connected 20s
before=$(clear)
babble &
babbling=$!
start=$EPOCHREALTIME
kill_agent
for place in 2 5 9 14 20 26 33 41 50 60; do
  doomed_agent $place
  within 30 eval "gone || field_is corp state connected"
  gone || { kill -KILL "$(agent_pid)" 2>/dev/null || true; within 5 gone; }
  nft list table inet roamward >/dev/null || say "open after $place"
done
start_agent
tunnel_is corp connected 20s
# F44
status=0
"$bin/roamwardd" --policies "$policies" --state-dir "$scene/state" --socket "$scene/other.socket" 2>second.log || status=$?
say "$status $(grep -c 'another agent' second.log)"
field corp state
# F13: replaced by a new one.
stop_agent
start_agent
tunnel_is corp connected 20s
kill $babbling
(( $(clear) == before )) && say 'nothing in clear' || say "$(clear) - $before in clear"
# F38: a bad file, and killed while it reads it.
echo 'nonsense: [' >"$policies"/zz.yaml
within 5 eval "roamward status | found 'error'"
field corp state
kill_agent
start_agent
nft list table inet roamward >/dev/null && say 'still locked'
rm "$policies"/zz.yaml
within 20 field_is corp state connected
(( $(clear) == before )) && say 'nothing in clear'
