# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

take_everything
ip -n internet route add 10.77.0.0/16 via 203.0.113.10
ip -n internet link set gateway down
go cafe
start_agent
within 3 ip link show corp
for _ in 1 2 3; do
  say "$(field corp state) $(seen_by 203.0.113.80) $(ip rule | grep -c 21000 || true)"
  sleep 0.5
done
roamward status | sed -n 1p
within 16 field_is corp failure 'the peer did not answer within 15 s'
say "$(field corp state) $(seen_by 203.0.113.80)"
ip -n internet link set gateway up
tunnel_is corp connected
say "$(seen_by 203.0.113.80) $(field corp failure)"
