# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Hotplug/connected.bash
source "$tests/Hotplug/connected.bash"


has_link() { ip link show "$1" >/dev/null 2>&1; }
for delay in $DELAYS; do
  roamward down corp >/dev/null
  within 5 not has_link corp
  # Linux before 6.2 does not rename a link that is up.
  # The agent may take the link away between the two, as one that is down.
  {
    until has_link corp; do :; done; sleep 0.00"$delay"
    until ip link set corp down && ip link set corp name mine; do :; done
  } 2>/dev/null &
  roamward up corp >/dev/null
  wait $!
  within 15 intranet_loads
  within 5 eval 'has_link corp && ! has_link mine'
done
within 5 field_is corp state connected
field corp state
