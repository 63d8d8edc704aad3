# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Hotplug/connected.bash
source "$tests/Hotplug/connected.bash"


is_back() { intranet_loads && ip link show corp >/dev/null && not ip link show mine >/dev/null 2>&1; }
ip link del corp
within 15 intranet_loads && say deleted
ip link set corp netns home
within 15 intranet_loads && say moved
within 5 eval 'ip link set corp down && ip link set corp name mine'
# Between the two commands the agent may have repaired the link, which works on under the other name for a moment.
within 15 is_back && say renamed
within 5 field_is corp state connected
