# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Hotplug/connected.bash
source "$tests/Hotplug/connected.bash"


ip link set wlan0 netns home
within 3 field_is corp state reasserting
say "$(roamward status --json | jq -r .primary.link)"
ip -n home link set wlan0 netns laptop
"$lab" lease cafe wlan0
within 5 field_is corp state connected
say "$(roamward status --json | jq -r .primary.link) $(($(link_index corp) - index))"
intranet_loads && say intranet
