# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/sleep.bash
source "$tests/sleep.bash"

go cafe
start_logind
start_agent
tunnel_is corp connected
falls_asleep
within 5 eval '(( $(count_in_log "falling asleep") == 1 ))'
say "$(field corp state)"
wakes
within 5 eval '(( $(count_in_log "awake.*slept\|state=awake") >= 1 ))'
tunnel_is corp connected
say "$(paste -sd ' ' "$scene/locks") "
