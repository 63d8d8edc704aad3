# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

ip -n gateway address add 203.0.113.11/25 dev wan0
answer_endpoint_with cafe 203.0.113.10
answer_endpoint_with mobile 203.0.113.11
go cafe
start_agent
tunnel_is corp connected
say "$(field corp endpoint)"
grep '^nameserver' "$laptop"/resolv.conf
go mobile
within 8 field_is corp endpoint 203.0.113.11:51820
tunnel_is corp connected
within 5 seen_by 203.0.113.80
grep '^nameserver' "$laptop"/resolv.conf
