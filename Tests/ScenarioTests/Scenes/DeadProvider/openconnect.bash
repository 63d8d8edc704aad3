# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/openconnect.bash
source "$tests/openconnect.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/dead.bash
source "$tests/dead.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/dead-provider.bash
source "$tests/dead-provider.bash"

install_provider openconnect
go cafe
dpd=90 ocserv_server <<<'route = 10.97.0.0/255.255.255.0'
openconnect_policy "username: alice, server-certificate: '$server_pin'" </dev/null
# A person types it once.
(within 30 field_is office 'questions[0].kind' password && printf 'pass word\n' | roamward answer office) >/dev/null 2>&1 &
office_dies 10.97.0.1 'tcp dport 443' 'udp dport 443'
