# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
within 2 grep -q '^up' calls
within 5 eval '(( $(grep -c "^down" calls) >= 3 ))'
# At 0, 1 and 3 seconds at the earliest.
(($(sed -n 3p ups) - $(sed -n 1p ups) > 2500000)) && say patient
say "$(grep -c '^up' calls) $(grep -c '^down' calls) $(field vpn state)"
roamward status | grep failure
touch good
tunnel_is vpn connected
say "$(field vpn failure)"
