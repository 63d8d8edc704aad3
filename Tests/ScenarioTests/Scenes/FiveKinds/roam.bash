# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/nebula.bash
source "$tests/nebula.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/kinds.bash
source "$tests/kinds.bash"

five_kinds
go cafe
start_agent
all_answer start 20
[[ -z $BUSY ]] || send_always
for place in mobile cafe home cafe; do
  go $place
  all_answer $place "$EACH_WITHIN"
done
# A train's tunnel: no network at all for a while.
go nothing
within 5 eval '[[ $(roamward status --json | jq .primary.link) == null ]]'
go mobile
all_answer "mobile, after nothing," "$EACH_WITHIN"
say "all five"
((${#flows[@]} == 0)) || kill "${flows[@]}"
stop_agent
