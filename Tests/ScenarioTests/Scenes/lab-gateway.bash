# A second gateway, whose tunnel is `lab`.
# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 >"$policies"/lab.conf
chmod 600 "$policies"/lab.conf
