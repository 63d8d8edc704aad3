# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
SETTLE=0ms start_agent
tunnel_is corp connected
sleep 2 # no event: the agent's work after it has started, which the storm would count
for i in {1..500}; do printf 'link set lan0 down
link set lan0 up
'; done >flaps
flap() {
  local start=${EPOCHREALTIME/./} count=0
  # Not less than two seconds, however fast it goes.
  while ((${EPOCHREALTIME/./} - start < 2000000)); do
    on cafe ip -batch "$scene/flaps"
    count=$((count + 500))
  done
  say "$count $(((${EPOCHREALTIME/./} - start) / 1000))"
  "$lab" serve cafe lan0
  "$lab" lease cafe wlan0
}
storm flap
# It answers, and the network that it sees is the kernel's.
within 5 network_is_right && tunnel_is corp connected && within 5 intranet_loads && say "$(field corp decision)"
