# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/OtherVPN/words.bash
source "$tests/OtherVPN/words.bash"

go cafe
wg-quick up "$scene"/theirs.conf >/dev/null 2>&1
theirs >before
start_agent
tunnel_is corp connected
way_to 203.0.113.80
ip route get 203.0.113.10 mark 51820 | grep -o 'dev [^ ]*'
ip rule show priority 20900
roamward status | grep '^other'
theirs | without_ours >during; without_ours <before | diff - during | grep -v roamward | grep -c '^[<>].*rule' || true
stop_agent >/dev/null
theirs >after; diff before after && say "untouched"
wg-quick down "$scene"/theirs.conf >/dev/null 2>&1
start_agent
tunnel_is corp connected
wg-quick up "$scene"/theirs.conf >/dev/null 2>&1
# The kernel puts each of their two rules before all others: their numbers depend on whether the agent looks between them.
for cause in 'what table 51820 routes, by rule [0-9]* of wg-quick' 'every route of the main table but the default one, by rule [0-9]*'; do
  within 10 eval "roamward status | grep -o '$cause: goes outside'"
done
way_to 203.0.113.80
wg-quick down "$scene"/theirs.conf >/dev/null 2>&1
within 5 way_is 203.0.113.80 corp
