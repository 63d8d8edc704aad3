# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go home
start_agent
roamward monitor --json >events &
roamward monitor >lines &
# A policy that is read again is told of.
# No event: the monitor may not listen yet.
listen() { echo "#" >>"$policies"/corp.yaml; sleep 0.1; test -s events && test -s lines; }
within 5 listen
go cafe
tunnel_is corp connected
# Without a moment between the two networks, in which the tunnel would be reasserting.
"$lab" lease home eth0
tunnel_is corp disconnected
within 5 grep -q '"to":"disconnected"' events
within 5 grep -q 'to disconnected\|-> disconnected' lines
jq -r 'select(.event == "state") | .to' events >states
jq -r 'select(.event == "decision") | "\(.tunnel) \(.decision) \(.rule)"' events >decisions
jq -r 'select(.event == "network") | "\(.link) \(.ssid)"' events >networks
