# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/keepers.bash
source "$tests/keepers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/both-gateways.bash
source "$tests/both-gateways.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/split-names.bash
source "$tests/split-names.bash"

for i in 1 2 3; do
  before=$(server_pid)
  kill -KILL "$before"
  within 10 eval '[[ -n $(server_pid) && $(server_pid) != $before ]] && all_answered_at 198.51.100.77'
done
say "answers again"
