# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
sleep 2 # no event: the agent's work after it has started, which the storm would count
steps=$(counter steps) index=$(link_index corp) events=$(counter events)
churn() {
  local round i
  for round in {1..10}; do
    for i in {1..1000}; do echo "link add v$i up group 77 type veth peer name w$i"; done | ip -batch -
    ip link del group 77
  done
}
storm churn
say "$(($(counter events) - events))"
say "$(field corp state) $(($(counter steps) - steps)) $(($(link_index corp) - index))"
within 5 intranet_loads && say "intranet"
