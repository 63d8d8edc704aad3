# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/hostile.bash
source "$tests/hostile.bash"

connected_in_cafe
ip route add "$PREFIX" via 198.51.100.1 dev wlan0 proto dhcp
within 10 eval 'roamward status | grep -F "$PREFIX via 198.51.100.1 dev wlan0 (DHCP): goes inside"' >/dev/null
dry plan --up corp | grep -F "$PREFIX via" | cut -d : -f 1-3
dry explain corp | grep -cF "$PREFIX via"
stray
