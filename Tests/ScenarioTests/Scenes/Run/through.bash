# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/run.bash
source "$tests/run.bash"

go cafe
take_everything
as_member
watch_programs
echo x >/dev/udp/203.0.113.80/7777
within 5 eval '(($(outside own) > 0))' && say "the watch sees what leaves outside"
seen=$(outside own)
remember
start_agent
roamward down corp --wait 20 >/dev/null
run=("${member[@]}" "$scene/roamward" run)
"${run[@]}" --through corp -- true 2>&1 || say $?
"${run[@]}" --through nowhere -- true 2>&1 || say $?
"${run[@]}" --through corp --up -- true && say "brought up"
# Each is a launch of its own, and sends one packet.
for _ in {1..25}; do "${run[@]}" --through corp -- bash -c 'echo x >/dev/udp/203.0.113.80/7777'; done
within 5 eval '(($(inside) == 25))' && say "25 launches: $(($(outside own) - seen)) outside, $(inside strangers) with another address"
"${run[@]}" --through corp -- curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami
# Exit status, signals, standard input and output, arguments are the program's own.
echo hello | "${run[@]}" --through corp -- sh -c 'cat; echo "$1"; id -u; exit 7' sh 'an  argument' || say $?
"${run[@]}" --through corp -- sh -c 'kill -TERM $$' || say $?
"${run[@]}" --through corp -- no-such-program 2>&1 || say $?
within 5 eval '[[ $(programs) == 0 ]]' && say "nothing runs"
stop_agent
as_before
