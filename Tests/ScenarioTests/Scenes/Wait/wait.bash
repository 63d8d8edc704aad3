# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
for words in "down corp --wait" "up --wait corp" "down --wait=20s corp" "up --wait 20 corp"; do
  # shellcheck disable=SC2086 # several words
  roamward $words >/dev/null
  say "$words: $(field corp state)"
done
roamward down corp --wait >/dev/null
ip -n internet link set gateway down
roamward up corp --wait 1s >/dev/null 2>&1 || say "not within a second"
roamward up corp --wait soon >"$scene/said" 2>&1 || head -n 1 "$scene/said"
