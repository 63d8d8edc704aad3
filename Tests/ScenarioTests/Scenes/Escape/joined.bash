# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
cp name "$laptop/ssid"
start_agent
tunnel_is corp connected
roamward status >out-status
roamward network >out-network
dry explain corp >out-explain
dry evaluate --explain >out-evaluate
roamward cat --policies policies >out-cat
roamward check policies >out-check 2>&1 || true
say "$(roamward network --json | jq -r .links.wlan0.ssid)"
say "$(roamward status --json | jq -r .primary.ssid)"
say "$(roamward status --json | jq -r '.tunnels[0].rule.name')"
grep -L -F "$(cat name)" out-status out-network out-explain out-evaluate out-cat || true
