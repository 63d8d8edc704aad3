# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
within 3 test -s child && say "it hangs"
child=$(<child)
within 6 grep -q '^down' calls
runs "$child" || say "it is gone"
roamward status | grep failure
