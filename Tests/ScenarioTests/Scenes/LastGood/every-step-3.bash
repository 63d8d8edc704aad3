# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/LastGood/words.bash
source "$tests/LastGood/words.bash"

rm -rf state; mkdir state
cp old.yaml "$policies"/corp.yaml
rm -f agent.exit
# shellcheck disable=SC2153 # of the test
( export ROAMWARD_DIE_AT=$PLACE; start_agent ) >/dev/null 2>&1 &
within 20 eval '[[ -s agent.exit ]] || roamward status'
[[ -s agent.exit ]] || take_over
within 5 test -s agent.exit
# The first one had nothing to keep yet: that is the only way to none.
echo 'nonsense: [' >>"$policies"/corp.yaml
start_agent
within 5 eval 'roamward status | found "error"'
say "$(roamward status --json | jq -r '[.policy.generation, (.tunnels | length)] | join(" ")')"
stop_agent >/dev/null
ls state | grep -v -e '^lock$' -e '^policies$' -e '^history$' || true
