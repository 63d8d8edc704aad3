# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/guard.bash
source "$tests/guard.bash"

go cafe
watch_guard
start_strays
is_program() { pgrep -P $program -x sleep >/dev/null; }
ROAMWARD_FAULT_LOG=$scene/places start_agent
# Its start may go on after it answers.
# No event: a start that goes on has another place soon.
is_started() { local before; before=$(wc -l <places); sleep 0.3; (($(wc -l <places) == before)); }
within 5 is_started
first=$(wc -l <places)
guard -- sleep 1000
within 5 is_program
kill $program; within 5 nothing_left
last=$(wc -l <places)
stop_agent
protected=0 over=0
for ((n = first + 1; n <= last; n++)); do
  rm -f agent.exit
  ROAMWARD_DIE_AT=$n start_agent
  guard -- sleep 1000; disown $program
  within 5 eval 'is_program || [[ -s agent.exit ]]'
  if [[ ! -s agent.exit ]]; then
    kill $program; within 5 eval '[[ -s agent.exit ]] || nothing_left'
    # The last places may be those of its stop.
    # No event: any moment.
    sleep 0.2; kill -TERM "$(agent_pid)" 2>/dev/null || true; within 5 test -s agent.exit
  fi
  # A caller whose agent dies before its answer never becomes the program, but ends.
  within 5 eval 'is_program || not runs $program'
  if is_program; then
    forget; sleep 0.3; (( $(outside) == 0 )) || say "$n: $(outside) outside" # no event: packets that must not come
    start_agent; within 5 eval '[[ $(guards) == 1 ]]'
    (( $(outside) == 0 )) || say "$n: $(outside) outside after the start"
    kill $program; protected=$((protected + 1))
  else
    start_agent; over=$((over + 1))
  fi
  within 10 nothing_left || say "$n: left: $(ls state)"
  stop_agent >/dev/null
  [[ ! -e state/provider-groups ]] || say "$n: a group is left"
done
# The next agent is killed too, wherever it is when it goes on with the guard.
start_agent
guard -- sleep 1000; disown $program
within 5 is_program; forget
kill_agent
rm places; ROAMWARD_FAULT_LOG=$scene/places start_agent; kill_agent
for ((n = 1; n <= $(wc -l <places); n++)); do
  rm -f agent.exit
  ROAMWARD_DIE_AT=$n start_agent >/dev/null 2>&1 & starter=$!
  within 5 eval '[[ -s agent.exit ]] || [[ $(guards) == 1 ]]'
  kill $starter 2>/dev/null || true
  # It may die by itself meanwhile.
  [[ -s agent.exit ]] || { kill -KILL "$(agent_pid)" 2>/dev/null || true; within 5 test -s agent.exit; }
  is_program && protected=$((protected + 1))
done
seen_outside "successors killed"
start_agent; within 5 eval '[[ $(guards) == 1 ]]'
kill $program; within 5 nothing_left
stop_agent
echo "$((last - first)) places, $over over; $protected of $(wc -l <places) places of a successor" >told
(( last - first >= 12 && over >= 8 )) && say "killed everywhere"
stop_strays
