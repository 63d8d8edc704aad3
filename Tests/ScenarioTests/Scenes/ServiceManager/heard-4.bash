# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/ServiceManager/words.bash
source "$tests/ServiceManager/words.bash"

stop_agent; within 5 last_word 'STATUS=no tunnel is up'
