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
roamward up corp --until resume --wait 20 >/dev/null
# A program that the command leaves in the background, by a shell that ends; another one speaks beside it, outside.
bash -c "$(speak 7778)" &
others=$!
trap 'kill $others; pkill -KILL -f "[s]poken/7777" || true' EXIT
"${member[@]}" "$scene/roamward" run --through corp -- bash -c 'setsid bash -c "$0" & sleep 600 & disown -a' "$(speak 7777)" </dev/null >/dev/null 2>&1
both_speak
say "$(outside own) outside, $((0 < $(inside))) $(programs)"
roamward status | grep -A 2 '^programs' | sed -E 's|group: .*/roamward-[0-9]*|group: G|'
"$bin/roamward" diff --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" >diff.out && say "no drift" || cat diff.out
roamward state --state-dir "$scene/state" | grep -c 'programs through corp\|leads programs into the tunnel\|records the programs' || true
roamward down corp --until resume --wait 20 >/dev/null
before=$(outside others); both_speak
say "down: $(outside own) outside, others $(($(outside others) > before))"
roamward status | grep -A 1 '^programs'
roamward up corp --until resume --wait 20 >/dev/null
before=$(inside); both_speak
say "up: $(outside own) outside, $(($(inside) > before))"
kill_agent
engine=$(engine_pid corp)
[[ -z $engine ]] || kill -KILL "$engine"
before=$(outside others); both_speak
say "killed: $(outside own) outside, others $(($(outside others) > before))"
cleanup_agent
before=$(outside others); both_speak
say "cleaned up: $(outside own) outside, others $(($(outside others) > before))"
go mobile
before=$(outside others); both_speak
say "roamed: $(outside own) outside, others $(($(outside others) > before))"
start_agent
tunnel_is corp connected
before=$(inside); both_speak
say "back: $(outside own) outside, $(($(inside) > before)) $(programs)"
go cafe
tunnel_is corp connected
# What ended leaves nothing.
pkill -KILL -f '[s]poken/7777'; pkill -KILL -x sleep || true
within 5 eval '[[ $(programs) == 0 ]]'
[[ ! -e $scene/state/programs ]] && say "nothing left"
trap - EXIT
kill $others
stop_agent
as_before
