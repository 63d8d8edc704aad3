# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

within 2 eval '(( $(ls /proc/$(agent_pid)/fd | wc -l) < 40 ))'
ls /proc/"$(agent_pid)"/fd | wc -l
grep VmRSS /proc/"$(agent_pid)"/status | grep -o '[0-9]*'
