# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
index=$(link_index corp)
lines=$(count_in_log 'policies are active')
exec 3>"$policies"/corp.yaml
{ cat half.yaml; echo '        - action: disconnect'; } >&3
sleep 2 # no event: half a file that must not be read as a policy
say "$(field corp state) $(field corp decision)"
say "loaded $(($(count_in_log 'policies are active') - lines)) times"
{ echo '          match: { interface-name: "eth*" }'; echo '        - action: connect'; } >&3
exec 3>&-
within 1 eval '(( $(count_in_log "policies are active") > lines )) && field_is corp rule.index 2'
say "$(field corp state), rule $(field corp rule.index)"
[[ $(link_index corp) == "$index" ]] && say "the same link"
