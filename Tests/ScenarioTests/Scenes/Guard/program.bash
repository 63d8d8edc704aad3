# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/guard.bash
source "$tests/guard.bash"

go cafe
remember
start_agent
echo hello | roamward guard -- sh -c 'read word; echo "$word $1"; exit 0' sh 'an  argument' 2>/dev/null && true
say "$?"
within 5 nothing_left; say "nothing left"
guard -- sh -c 'trap "echo ended >ended; exit 0" TERM; echo started >started; while :; do sleep 0.05; done'
within 5 test -s started
kill -TERM $program; wait $program; say "$? $(cat ended)"
within 5 nothing_left; say "nothing left"
# In sessions of their own; one ignores SIGTERM.
guard -- sh -c 'setsid sleep 600 & setsid sh -c "trap \"\" TERM; sleep 601; sleep 602" & sleep 0.5; exit 0'
wait $program && true; say "$?"
# SIGKILL comes after two seconds.
within 3 eval 'not pgrep -x sleep'; is_closed || say "open too early"
within 5 nothing_left; say "nothing left"
stop_agent
as_before
