# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/nebula.bash
source "$tests/nebula.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/dead.bash
source "$tests/dead.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/dead-provider.bash
source "$tests/dead-provider.bash"

install_provider nebula
go cafe
nebula_server
nebula_policy laptop </dev/null
office_dies 10.96.0.1 'udp dport 4242'
