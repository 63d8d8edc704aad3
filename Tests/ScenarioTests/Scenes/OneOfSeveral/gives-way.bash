# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/groups.bash
source "$tests/groups.bash"

three_gateways
go cafe
watch_cafe
within 5 watch_sees && say watched
start_agent
roamward wait work --timeout 60s && say "$(field paris state)"
before=$(clear)
babble &
babbling=$!
carried_within 3 10.77.0.2
say "$(field lyon code) $(field tcp state) $(roamward status --json | jq -c .firewall.blocking)"
# The first is silent: the second.
silence 51820
carried_within 60 10.88.0.2
say "$(field paris code) $(field paris state)"
roamward status --json | jq -c '.groups[] | [.name, (.members[] | .tunnel, .role, .state, ."next-at" != null)]'
roamward metrics | grep '^roamward_group_in_use'
dry evaluate | grep -A1 '^paris' | sed 's/  */ /g'
dry explain work | sed -n '1s|  (.*||p'
dry evaluate --tunnel work --exit-code >/dev/null && status=0 || status=$?
say "evaluate $status"
roamward status | grep '^note: group' | sed 's/again in.*/again/'
# The second too: the third, though the first is tried meanwhile.
silence 51821
carried_within 60 10.89.0.2
# The first again.
answer 51820
carried_within 150 10.77.0.2
babbles 3
kill "$babbling"
(($(clear) == before)) && say 'nothing in clear'
say "$(field lyon state) $(field tcp state)"
# By hand: the group down, one member up.
roamward down work >>looked
roamward wait work --for disconnected --timeout 60s
say "$(field paris state)"
roamward up tcp --wait >>looked
say "$(field paris state) $(field tcp state)"
roamward resume work >>looked
tunnel_is paris connected
# The record has whose turn it was; it is written a moment later.
why() { roamward why work --at now --policies "$policies" --state-dir "$scene/state"; }
stands_by_for() { why | found "standby $1"; }
within 20 stands_by_for paris
why | grep -E '^(paris|lyon|tcp):|not acted on' | cut -d , -f 1
stop_agent
