# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/inner.bash
source "$tests/inner.bash"

sed -i 's|^AllowedIPs = .*|&, 203.0.113.10/32|' "$policies"/corp.conf; watch_inner
