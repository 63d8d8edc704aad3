# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

sed -i 's|^AllowedIPs.*|AllowedIPs = 198.0.0.0/8|' "$policies"/corp.conf
go cafe
start_agent
tunnel_is corp connected
roamward status | grep -o '198.51.100.0/24, which this machine is attached to.*'
roamward status --json | jq -r '.tunnels[0].notes[] | select(.code == "overlap") | .code'
stop_agent
