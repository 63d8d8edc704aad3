# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/nebula.bash
source "$tests/nebula.bash"

nebula_server
go cafe
(cd overlay && nebula-cert sign -name laptop -ip 10.96.0.2/24 -duration 120s -out-crt short.crt -out-key short.key)
install -m 0600 overlay/short.crt overlay/short.key "$policies"
nebula_policy short </dev/null
start_agent
roamward up office >/dev/null
within 20 field_is office state connected
noted() { [[ $(roamward status --json | jq -r '.tunnels[] | .notes[] | select(.code == "credential-expiring") | .text') == *"$1"* ]]; }
within 120 noted 'the certificate laptop ends on '
roamward status | grep -o 'the certificate laptop ends on' | head -n 1
dry doctor >doctor.txt || true
grep -o 'risk .*the certificate laptop ends on' doctor.txt
within 30 noted 'the certificate laptop has ended on '
grep -c 'warning.*the certificate laptop .*; renew it' agent.log
stop_agent
