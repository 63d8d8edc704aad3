# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
eval "$MAKE_IT"
start_agent
within 3 field_is corp '"failure-code"' "$CODE"
field corp failure
roamward status | grep -c 'failure: ' || true
dry doctor | grep -A1 'the last attempt failed' | grep -c 'cure: ' || true
eval "$MEND_IT"
tunnel_is corp connected
roamward status --json | jq -c '.tunnels[0]."failure-code"'
