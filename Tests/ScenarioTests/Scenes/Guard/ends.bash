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
cat >program <<'SH'
trap 'sleep 0.2; nft list table inet roamward >/dev/null && "$lab" on cafe nft list counter inet watch outside >last; exit 0' TERM
sleep 600 &
while :; do wait; done
SH
lab=$lab guard -- sh program
within 5 eval '[[ $(guards) == 1 ]]'; within 5 eval 'pgrep -P "$(pgrep -P $program)" -x sleep'; forget
"$bin/roamward" plan --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" 2>&1 | sed "s/$program/N/; s|$policies|POLICIES|"
"$bin/roamward" diff --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" >/dev/null && say "no drift"
"$bin/roamward" state --state-dir "$scene/state" --json | jq -r '.objects[] | select(.purpose | contains("guard")) | .purpose'
kill -TERM "$(agent_pid)"
within 5 eval 'not kill -0 $program'
say "closed until then: $(grep -o 'packets [0-9]*' last)"
within 10 test -s agent.exit
within 5 nothing_left; say "nothing left"
start_agent
guard -- sleep 600
within 5 eval '[[ $(guards) == 1 ]]'
kill_agent; forget
cleanup_agent
runs $program || say "ended"
seen_outside "after cleanup"
ls state | grep -c guard- || true
start_agent
within 5 is_open; say "open"
stop_strays
stop_agent
