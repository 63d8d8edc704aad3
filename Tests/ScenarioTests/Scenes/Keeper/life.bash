# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/keepers.bash
source "$tests/keepers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/both-gateways.bash
source "$tests/both-gateways.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/keeper-events.bash
source "$tests/keeper-events.bash"

# shellcheck disable=SC2153 # of the test
unpacked=$UNPACKED keeper_kind=$KEEPER
keep_by "$keeper_kind"
for place in mobile cafe; do go_with_keeper $place; look_at_file >was.$place; done
start_agent
both_up
moment=start
within 5 names_are_right && say start
# shellcheck disable=SC2153
mapfile -t events <<<"$EVENTS"
for event in "${events[@]}"; do
  happens "$event"
  both_up
  moment=${event// /-}
  within 5 names_are_right && say "$event"
done
grep -c '^nameserver' "$file"
say "backend: $(roamward status --json | jq -r .dns.backend)"
roamward down corp --wait 20 >/dev/null
within 5 answers_are wiki.corp.example=SERVFAIL box.lab.example=10.88.0.77 "www.public.example=${answers[$place]}" && say refused
[[ $keeper != local ]] || within 5 answers_are a.printer.example=192.0.2.200
say "outside: $(asked_outside)"
stop_agent >/dev/null
is_theirs && say theirs
