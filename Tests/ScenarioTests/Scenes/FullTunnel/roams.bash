# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
index=$(link_index corp)
say "$(seen_by 203.0.113.80)"
go mobile
within 8 gateway_sees 203.0.113.151
tunnel_is corp connected
say "$(seen_by 203.0.113.80)"
say "$(seen_by 198.18.0.1)"
way_is 198.51.100.1 corp && say "the café is remote now"
way_is 203.0.113.129 corp && say "and mobile's router is inside"
[[ $(link_index corp) == "$index" ]] && say "the same link"
