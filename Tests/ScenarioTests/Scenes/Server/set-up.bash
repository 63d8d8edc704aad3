# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

sed -i 's|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0, ::/0|' "$policies"/corp.conf
ip -n internet route add 10.77.0.0/16 via 203.0.113.10
