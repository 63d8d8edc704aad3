# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/StepFailure/words.bash
source "$tests/StepFailure/words.bash"

export ROAMWARD_FAULT_LOG=$scene/places
start_agent
apply_and_confirm
stop_agent
rm "$scene"/local/*
