# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/clients.bash
source "$tests/clients.bash"

# shellcheck disable=SC2153 # of the test
read -ra at_once <<<"$AT_ONCE"
build_clients "${at_once[@]}" & building=$!
witness_names
gateway_answers_late
go cafe
start_agent
within 5 led
wait $building
# A tunnel that takes four seconds in all: its routes come after its gateway's answer.
for stage in tenth:0.1 two:2 four:3.8; do
  # On a busy machine the tunnel may come up after the names have failed: then once more.
  for attempt in 1 2 3 4 5; do
    let_down
    passes after ${stage#*:}
    connected_after & waiting=$!
    ask_by_each ${stage%:*} raw "${at_once[@]}" >"$scene/said"
    wait $waiting
    (($(<"$scene/connected-after") > 4400)) || break
  done
  cat "$scene/said"
  say "${stage%:*} $(field corp state)"
done
[[ -z $WITH_CHROMIUM ]] || { let_down; passes held 2; ask_by_each two chromium; }
let_down
passes never
# No event: questions that begin at different moments.
(for i in 1 2 3 4; do sleep 0.2; TIMED=yes ask_by raw$i never >"$scene/said-$i" & done; wait) &
background=$!
ask_by_each never "${at_once[@]}"
wait $background
[[ -z $WITH_CHROMIUM ]] || patience=8 ask_by_each never chromium
cat "$scene"/said-[1-4]
say "never $(field corp state)"
say "outside $(cat "$scene"/names-{home,cafe,mobile} | grep -c 'query.*corp.example' || true)"
