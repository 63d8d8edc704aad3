# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

# No event: another word that must not come.
kill -HUP "$(agent_pid)"; within 5 eval '(( $(grep -cx READY=1 heard) == 2 ))'; sleep 0.3
