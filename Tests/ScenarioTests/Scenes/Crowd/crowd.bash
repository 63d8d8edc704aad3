# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

cp "$tests"/crowd .
take_everything
go cafe
start_agent
tunnel_is corp connected
setpriv --reuid 65534 --regid 65534 --clear-groups ./crowd "$ROAMWARD_SOCKET" 50 >crowd.out &
crowd=$!
within 5 grep -q ready crowd.out
sleep 2
read -r median p99 max < <(./crowd --ask "$ROAMWARD_SOCKET" 100)
# shellcheck disable=SC2238
echo "ms: $median $p99 $max" >times
(( ${max%.*} < 2000 )) && say "root is answered" || say "root waits: $median $p99 $max"
nft delete table inet roamward
within 1 nft list table inet roamward
say "repaired"
for place in mobile cafe mobile cafe; do
  go $place
  within 5 field_is corp state connected
  within 5 intranet_loads
done
say "followed"
# The agent is not busy with it.
before=$(ticks)
sleep 2 # no event: the processor time of two seconds
spent=$(($(ticks) - before))
(( spent < 100 )) && say "not busy" || say "busy: $spent of 200 ticks"
kill "$crowd"
roamward down corp
say "$(field corp override)"
