# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/run.bash
source "$tests/run.bash"

go cafe
take_everything
as_member
watch_programs
remember
start_agent
tunnel_is corp connected
run=("${member[@]}" "$scene/roamward" run)
setpriv --reuid 65534 --regid 65534 --clear-groups "$scene/roamward" run --outside -- true 2>/dev/null || say $?
# From the first packet on, with the address of the network; what others send goes into the tunnel.
for _ in {1..10}; do "${run[@]}" --outside -- bash -c 'echo x >/dev/udp/203.0.113.80/7777'; done
for _ in {1..10}; do bash -c 'echo x >/dev/udp/203.0.113.80/7778'; done
within 5 eval '(($(outside own) == 10))'
say "$(outside own) outside, $(outside others) of others"
"${run[@]}" --outside -- curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
# In a program through the tunnel, one outside; and the reverse.
"${run[@]}" --through corp -- "$scene/roamward" run --outside -- curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
"${run[@]}" --outside -- "$scene/roamward" run --through corp -- curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
# The kill switch blocks all others.
"${run[@]}" --outside -- bash -c "$(speak 7777)" &
bash -c "$(speak 7778)" &
others=$!
engine=$(engine_pid corp)
if [[ -n $engine ]]; then kill -KILL "$engine"; else ip link delete corp; fi
both_speak
say "lost: $(outside others) of others, $(($(outside own) > 10))"
kill_agent
before=$(outside own); both_speak
say "killed: $(outside others) of others, $(($(outside own) > before))"
start_agent
tunnel_is corp connected
before=$(outside own); both_speak
say "back: $(outside others) of others, $(($(outside own) > before)) $(programs)"
# An agent that stops lets it go on, without a group of ours.
stop_agent
pgrep -f '[s]poken/7777' >/dev/null && say "goes on"
kill $others; pkill -KILL -f '[s]poken/7777'
[[ ! -e $scene/state/programs ]] && say "nothing left"
as_before
