# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/inner.bash
source "$tests/inner.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/unit.bash
source "$tests/unit.bash"

second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 >"$policies"/lab.conf
chmod 600 "$policies"/lab.conf
install_plain
plain_policy <<'POLICY'
    on-demand: { rules: [{ action: connect }] }
    routes: { include: [default] }
    kill-switch: "on"
POLICY
sed -i 's|routes: .10.98.0.0/24.|routes: [0.0.0.0/0]|' "$policies/plain.yaml"
watch_inner
