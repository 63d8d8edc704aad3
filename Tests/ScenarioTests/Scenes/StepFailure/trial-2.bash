# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/StepFailure/words.bash
source "$tests/StepFailure/words.bash"

# shellcheck disable=SC2153 # of the test
export ROAMWARD_DIE_AT=$PLACE
start_agent
apply_and_confirm >/dev/null 2>&1 || true
within 5 test -s "$scene"/agent.exit
unset ROAMWARD_DIE_AT
start_agent
within 5 eval "[[ \$(roamward status --json | jq .policy.generation) == 1 ]]"
[[ $(roamward status --json | jq '.policy.problems | length') == 0 ]] || say problems
roamward revert >/dev/null 2>&1 || true
case $(ls "$scene"/local | tr '\n' ' ') in
  '') say old ;;
  'corp.conf corp.yaml ') cmp new/corp.yaml "$scene"/local/corp.yaml && cmp new/corp.conf "$scene"/local/corp.conf && say new ;;
  *) ls "$scene"/local ;;
esac
stop_agent >/dev/null
find "$scene"/state -mindepth 1 ! -name lock ! -name policies ! -path '*/history' ! -path '*/history/*'
rm -f "$scene"/local/*
