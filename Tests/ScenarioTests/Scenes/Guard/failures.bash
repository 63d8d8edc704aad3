# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/guard.bash
source "$tests/guard.bash"

go cafe
start_agent
if [[ $END == code ]]; then
  guard -- sh -c 'echo $$ >pid; until [ -e go ]; do sleep 0.05; done; exit 3'
  within 5 test -s pid; touch go
else
  guard -- sh -c 'echo $$ >pid; exec sleep 600'
  within 5 test -s pid; within 5 pgrep -fx 'sleep 600' >/dev/null; kill -"$END" "$(<pid)"
fi
within 5 eval 'grep -q "the kill switch stays closed" guard.log'
grep -o 'was ended by signal.*closed\|has failed with.*closed' guard.log
grep -c "sudo kill $program$" guard.log
is_closed && say "$(guards) closed"
kill -TERM $program; wait $program && true; say "$?"
within 5 nothing_left; say "nothing left"
stop_agent
