# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/inner.bash
source "$tests/inner.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/unit.bash
source "$tests/unit.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/hand-over.bash
source "$tests/hand-over.bash"

begin_all "$KEPT"
kept >before
[[ ! -e prepared ]] || mv prepared between
restart_unit
rm -f between
within 30 all_up
within 10 plain_answers
kept >after
[[ $(grep -o 'provider [0-9]*' before) != $(grep -o 'provider [0-9]*' after) ]] && say "another provider"
[[ $(grep -o 'command [0-9]*' before) == $(grep -o 'command [0-9]*' after) ]] && say "the same command"
grep -o 'replaces the provider: [^"]*' agent.log || say "stopped before"
restart_unit
within 20 all_up
end_all
