# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
remember
SECRET=1 start_agent
within 3 grep -q '^status' calls
say "$(field vpn state) $(way_to 10.99.1.1)"
touch answer
tunnel_is vpn connected
say "$(way_to 10.99.1.1)"
go home
tunnel_is vpn disconnected
go cafe
tunnel_is vpn connected
stop_agent
as_before
