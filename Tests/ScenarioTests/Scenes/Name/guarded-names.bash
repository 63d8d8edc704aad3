# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Name/words.bash
source "$tests/Name/words.bash"

go cafe
start_asking loose
within 10 eval '[[ $(seen_of loose) != *cafe=0* ]] && ! [[ $(names_past) == *dns4=0* ]]'
say seen
# Until the firewall is there, nothing is promised.
start_agent; tunnel_is corp connected
# On a busy machine, copies of old questions may be on their way still.
stage up; within 10 all_answered; within 10 is_quiet; forget_leaks; sleep 1 # no event: the questions of this time
# No event: the questions of this time.
stage down; within 10 all_answered; unanswerable; roamward down corp >/dev/null; within 5 field_is corp state disconnected; sleep 0.5
stage resumed; roamward resume corp >/dev/null; tunnel_is corp connected; answerable
# No event: the questions of this time.
stage roaming; within 10 all_answered; for place in home mobile cafe; do go $place; sleep 0.7; tunnel_is corp connected; done
# No event: the questions of this time.
stage nowhere; within 10 all_answered; unanswerable; go nothing; sleep 0.5; go cafe; tunnel_is corp connected; answerable
# No event: the questions of this time.
stage agent; within 10 all_answered; kill_agent; sleep 0.5; start_agent; tunnel_is corp connected
stage engine; within 10 all_answered
# No event: the questions of this time.
[[ -z $(engine_pid corp) ]] || kill -KILL "$(engine_pid corp)"; sleep 0.5; tunnel_is corp connected
stage peer; within 10 all_answered; unanswerable
# No event: the questions of this time.
peer=$(on gateway wg show gw0 peers); on gateway wg set gw0 peer "$peer" remove; sleep 8
on gateway wg set gw0 peer "$peer" allowed-ips 10.77.0.2/32
stage back; within 30 eval 'grep -q "^back .*10.77.0.77$" $scene/lookups'; answerable; within 10 all_answered
stop_asking
for name in up down resumed agent engine peer back; do say "$name $(seen_of $name | sed 's/asked=[1-9][0-9]*/asked/; s/gateway=[1-9][0-9]*/gateway/')"; done
say "past $(names_past)"
# The questions that were seen outside, where there were any: of which stage they are.
[[ $(names_past) == 'dns4=0 dns6=0' ]] || tail -n 30 "$scene"/names-{home,cafe,mobile}
waits
seen_of roaming
