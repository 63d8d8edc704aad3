# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go home
remember
start_agent
roamward up corp --wait 60 && within 3 intranet_loads
say "$(field corp state) $(field corp override) $(field corp decision)"
at_rest
say "$(field corp state)"
go cafe
within 3 field_is corp override null
tunnel_is corp connected
go home
tunnel_is corp disconnected
within 3 as_before
