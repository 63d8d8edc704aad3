# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
remember
start_agent
tunnel_is corp connected
index=$(link_index corp)
[[ $BREAKAGE != *engine* || -n $(engine_pid corp) ]] || { say built; exit 0; }
eval "$BREAKAGE"
within 3 eval '(( $(link_index corp) != index ))'
within 5 intranet_loads
within 5 field_is corp state connected
say built
stop_agent
as_before
