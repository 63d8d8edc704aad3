# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
sleep 2 # no event: the agent's work after it has started, which the storm would count
steps=$(counter steps) events=$(counter events)
feed() {
  local action
  for action in add del; do
    awk -v action=$action 'BEGIN { for (i = 0; i < 100000; i++) printf "route %s 10.%d.%d.%d/32 dev wlan0 table 777\n",
      action, 128 + i / 65536, i / 256 % 256, i % 256 }' | ip -batch -
  done
}
storm feed
say "$(($(counter events) - events))"
say "$(field corp state) $(($(counter steps) - steps))"
