# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

# shellcheck disable=SC2153 # of the test
go "$PLACE"
start_agent
within 2 field_is corp decision "$ACTION"
dry network --json >saved.json
dry evaluate --live --json | jq -c '.decisions[0] | [.action, .rule.index, .reason]'
roamward evaluate --policies "$policies" --network saved.json --json | jq -c '.decisions[0] | [.action, .rule.index, .reason]'
roamward status --json | jq -c '.tunnels[0] | [.decision, .rule.index]'
