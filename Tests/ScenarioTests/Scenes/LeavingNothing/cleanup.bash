# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
remember
for delay in 0.05 0.15 0.3 3; do
  start_agent
  [[ $delay != 3 ]] || tunnel_is corp connected
  sleep $delay
  kill_agent
  as_before >/dev/null || say "something remains after $delay s"
  cleanup_agent
  within 3 as_before
done
