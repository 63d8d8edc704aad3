# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/guard.bash
source "$tests/guard.bash"

go cafe
start_agent
guard -- sh -c 'echo $$ >pid; exec sleep 600'
within 5 test -s pid; within 5 eval '[[ $(guards) == 1 ]]'
kill_agent; is_closed && say "closed"
kill -TERM $program; wait $program && true; say "$?"
start_agent
within 5 nothing_left; say "nothing left"
stop_agent
