# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
for options in "--state-dir state --socket other.socket" "--state-dir other --socket agent.socket" "--state-dir state --cleanup"     "--state-dir third --socket third.socket" "--state-dir third --socket third.socket --cleanup"; do
  # shellcheck disable=SC2086 # several words
  timeout 900 "$bin"/roamwardd --policies "$policies" "${inputs[@]}" $options 2>&1 || say "$?"
done
roamward cleanup --state-dir fourth --resolv-conf "$laptop"/resolv.conf --socket fourth.socket 2>&1 || say "$?"
say "$(field corp state)"
within 2 intranet_loads
