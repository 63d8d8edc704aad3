# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

umask 077
second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 >"$scene"/theirs.conf
sed -i 's|^AllowedIPs.*|AllowedIPs = '"$ALLOWED"'|' "$scene"/theirs.conf
