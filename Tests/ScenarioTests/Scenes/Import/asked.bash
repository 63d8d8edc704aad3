# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Import/words.bash
source "$tests/Import/words.bash"

file hub.conf 10.79.0.0/24 </dev/null
# Typed at a terminal: what is written, and what was said.
typed() {
  local command="../roamward import hub.conf --manual $2"
  # shellcheck disable=SC2059
  printf "$1" | "${user[@]}" script --quiet --return --command "$command" /dev/null >../said || say "status $?"
  say "$(find . -name '*.yaml' | sort | xargs)"
  tr -d '\r' <../said | grep -oE '(taken .*PrivateKey|Write it to .*\? .Y/n.|nothing was written|wrote .*)' | sed "s|$PWD|.|" || true
  find . -name '*.yaml' -delete
}
typed 'n\n' ''
typed '' ''
typed '\n' ''
mkdir out && { [[ $EUID != 0 ]] || chown 65534:65534 out; }
typed '' '--output out'
typed '' --dry-run | grep -c 'Write it' || true
