# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/run.bash
source "$tests/run.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"

go cafe
take_everything
as_member
watch_programs
witness_names
remember
start_agent
tunnel_is corp connected
plain=("$lab" on laptop "${member[@]}" "$scene/roamward" run --through corp)
alone=("${plain[@]}" --isolated --)
"$scene/roamward" run --through corp --isolated -- true 2>&1 || say $?
"${alone[@]}" bash -c 'curl --silent --max-time 5 http://203.0.113.80/cgi-bin/whoami; id -u; ip -o link | cut -d : -f 2 | xargs; exit 7' || say $?
"${alone[@]}" getent ahosts isolated.public.example | awk 'NR == 1 { print $1 }'
say "asked at the gateway $(grep -c 'query\[A\] isolated' "$scene/names-gateway"), in the café $(grep -c 'query.*isolated' "$scene/names-cafe" || true)"
# Services of this machine, by an address and by an abstract socket: others reach them, also through the tunnel.
python3 "$tests/Run/services" "$scene/served" &
services=$!
within 5 test -e "$scene/served"
"${plain[@]}" -- python3 "$tests/Run/reach"
"${alone[@]}" python3 "$tests/Run/reach"
# It ends with the command, however that ends, with all that it has started.
for signal in TERM KILL; do
  "${alone[@]}" bash -c 'setsid sleep 4711 & exec sleep 4711' &
  command=$!
  within 5 eval '(($(pgrep -fc "^sleep 4711") == 2))'
  kill -$signal $command
  wait $command || say "$signal $?"
  within 5 eval '! pgrep -f "^sleep 4711" && ! pgrep -x pasta' && say "nothing runs"
done
# Down, and without the agent, nothing of it leaves; others do.
"${alone[@]}" bash -c "$(speak 7777)" &
within 5 eval '(($(inside) > 0))'
roamward down corp --until resume --wait 20 >/dev/null
seen=$(spoke 7777); within 5 eval '(($(spoke 7777) > seen + 20))'
say "down: $(outside own) outside"
kill_agent
seen=$(spoke 7777); within 5 eval '(($(spoke 7777) > seen + 20))'
say "killed: $(outside own) outside"
pkill -KILL -f '[s]poken/7777' || true
kill $services
start_agent
stop_agent
as_before
