# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Hotplug/connected.bash
source "$tests/Hotplug/connected.bash"


before=$(states | wc -l) steps=$(counter steps)
# Linux 6.2 and later rename a link that is up.
ip link set wlan0 name wifi7 2>/dev/null ||
  { ip link set wlan0 down; ip link set wlan0 name wifi7; "$lab" lease cafe wifi7; }
within 5 eval '[[ $(roamward status --json | jq -r .primary.link) == wifi7 ]]'
at_rest
say "$(field corp state) $(($(states | wc -l) - before)) $(($(counter steps) - steps)) $(($(link_index corp) - index))"
roamward status --json | jq -r .primary.link
intranet_loads && say intranet
