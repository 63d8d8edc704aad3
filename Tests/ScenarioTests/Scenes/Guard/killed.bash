# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/guard.bash
source "$tests/guard.bash"

go cafe
watch_guard
start_agent
start_strays
guard -- sh -c 'echo $$ >pid; exec sleep 600'
within 5 test -s pid; within 5 eval '[[ $(guards) == 1 ]]'; disown $program; forget
case $WHAT in
  guard) kill -KILL $program ;;
  both) kill -KILL $program "$(<pid)" ;;
  agent) kill -KILL $program "$(<pid)" "$(agent_pid)"; within 5 test -s agent.exit; start_agent ;;
  agent-first) kill_agent; kill -KILL $program; start_agent ;;
esac
within 5 eval '[[ $(status_of held-since) != null ]]'
within 5 eval 'not runs "$(<pid)"'
seen_outside "killed"
roamward status | grep -A 1 '^guard:' | sed 's/(process [0-9]*)/(process N)/; s/killed .* ago/killed T ago/'
"$bin/roamward" plan --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" 2>&1 | grep -c 'was killed, and blocks all traffic'
# Another agent, and another network.
kill_agent; start_agent; go home; within 5 eval '[[ $(guards) == 1 ]]'
is_closed && say "still closed"
go cafe; forget; seen_outside "back"
roamward release | sed 's/[0-9][0-9]*)/N)/'
within 5 nothing_left; within 20 eval '(( $(outside) > 100 ))'; say "open, nothing left"
stop_strays
stop_agent
