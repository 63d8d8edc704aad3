# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Mark/words.bash
source "$tests/Mark/words.bash"

go cafe
remember
start_agent
tunnel_is vpn connected
within 5 both_run
kill_agent
say "$(pgrep -c 'sleep')"
"$bin/roamward" cleanup --dry-run --state-dir "$scene/state" | grep -o -e 'kill the processes of vpn' -e 'rmdir .*roamward-' | sed 's| /.*||'
cleanup_agent
within 5 gone
say "$(pgrep -c 'sleep')"
as_before
[[ ! -e state/provider-groups ]] && say clean
start_agent
tunnel_is vpn connected
kill_agent
rm "$policies/vpn.yaml"
start_agent
within 5 as_before
within 5 gone
say "$(pgrep -c 'sleep')"
stop_agent
