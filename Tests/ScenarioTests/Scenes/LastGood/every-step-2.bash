# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/LastGood/words.bash
source "$tests/LastGood/words.bash"

export ROAMWARD_FAULT_LOG=$scene/places
start_agent
take_over
within 5 eval '[[ $(roamward status --json | jq .policy.generation) == 2 ]]'
stop_agent
