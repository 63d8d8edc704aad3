# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

umask 077
sed -i 's/^        status:/        interface: tun0\n&/' "$policies/office.yaml"
printf '    routes: { include: [default] }\n    kill-switch: "%s"\n' "$KILL_SWITCH" >>"$policies/office.yaml"
roamward check "$policies"
