# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent --connectivity-check http://www.example/ --connectivity-content Hello
tunnel_is corp connected
helper() { pgrep --parent "$(agent_pid)" --full '^roamward-probe --at-work$'; }
loaded() { grep -c -e libcurl -e libcares -e libssl "/proc/$1/maps" || true; }
helper || say 'no helper'
sed -i 's/ssid: Cafe/ssid: Home/' "$policies"/corp.yaml
answered() { [[ $(roamward status --json | jq -r '.probes[0].answer') == open ]]; }
within 5 answered
say "agent $(loaded "$(agent_pid)")"
[[ $(loaded "$(helper)") == 0 ]] || say 'helper loaded'
tunnel_is corp connected
first=$(helper)
kill_agent
within 1 not test -e /proc/"$first"
start_agent --connectivity-check http://www.example/ --connectivity-content Hello
within 5 answered
second=$(helper)
stop_agent
within 1 not test -e /proc/"$second"
pgrep --full '^roamward-probe --at-work$' | grep -Fx -e "$first" -e "$second" || say 'nothing left'
