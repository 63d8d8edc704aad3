# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/dead.bash
source "$tests/dead.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/dead-provider.bash
source "$tests/dead-provider.bash"

install_provider openvpn
go cafe
keepalive="$KEEPALIVE" openvpn_server --push "route 10.98.0.0 255.255.0.0"
openvpn_policy </dev/null
office_dies 10.99.0.1 'udp dport 1194'
