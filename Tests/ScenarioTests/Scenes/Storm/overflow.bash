# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go home
start_agent
within 3 field_is corp rule.index 1
sleep 1 # no event: the agent's work after it has started, which the storm would count
lose() {
  kill -STOP "$(agent_pid)"
  local action
  for action in add del; do
    awk -v action=$action 'BEGIN { for (i = 0; i < 50000; i++) printf "route %s 10.128.%d.%d/32 dev eth0\n", action, i / 256, i % 256 }' |
      ip -batch -
  done
  go cafe
  kill -CONT "$(agent_pid)"
}
storm lose
within 5 network_is_right && say "as the kernel"
tunnel_is corp connected && say "$(field corp decision)"
