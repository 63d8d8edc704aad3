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

begin_all
kept >before
for round in 1 2 3; do
  restart_unit
  within 20 all_up
  diff before <(kept) && flow_goes_on 7777 && flow_goes_on 7778 && say "kept $round"
done
say "$(awk '{ print NF }' starts | tr '\n' ' ')"
count_in_log 'replaces the provider'
roamward message plain statistics | jq -c .connected
end_all
