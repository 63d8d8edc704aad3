# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
way_is 10.77.0.1 corp && say "routed"
echo '10.78.0.0/16 # the laboratory' >>"$policies"/corp.prefixes && within 1 way_is 10.78.0.1 corp && say "one more"
echo 10.79.0.0/33 >"$policies"/corp.prefixes && within 1 eval 'roamward status | found corp.prefixes:1:1'
way_is 10.77.0.1 corp && way_is 10.78.0.1 corp && say "a wrong line changes nothing"
echo 10.77.0.0/16 >"$policies"/corp.prefixes && within 1 not way_is 10.78.0.1 corp && way_is 10.77.0.1 corp && say "one less"
