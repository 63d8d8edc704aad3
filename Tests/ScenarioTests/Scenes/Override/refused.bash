# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
for words in 'up nope' 'down nope' 'resume nope' 'up off' 'up' 'wait nope'; do
  # shellcheck disable=SC2086 # several words
  roamward $words 2>&1 || say "$?"
done
say "$(field off state)"
kill_agent
roamward status 2>&1 || say "$?"
