# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go home
start_agent
sets() { roamward status --json | jq .policy.generation; }
# By the command, and by the folder.
loaded_twice() { (($(count_in_log 'awake for=policies') >= loads + 2)); }
changed_by() {
  before=$(sets) loads=$(count_in_log 'awake for=policies')
  roamward "$@" >/dev/null
  within 5 loaded_twice
  say "$1: $(($(sets) - before))"
}
changed_by trust
sed 's/^  corp:/  other:/; s/corp.conf/other.conf/' "$policies/corp.yaml" >other.yaml
cp "$policies/corp.conf" other.conf && chmod 0600 other.conf
changed_by apply other.yaml
say "$(count_in_log 'policies are active') told"
stop_agent
