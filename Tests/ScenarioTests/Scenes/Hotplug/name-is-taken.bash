# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Hotplug/connected.bash
source "$tests/Hotplug/connected.bash"


ip link set wlan0 down; ip link set wlan0 name old0
ip link set eth0 down; ip link set eth0 name wlan0
"$lab" lease home wlan0
echo >"$laptop"/ssid
within 5 eval '[[ $(roamward status --json | jq -r ".primary | .link, .ssid" | xargs) == "wlan0 null" ]]'
within 5 field_is corp decision ignore
say "$(field corp decision) $(roamward status --json | jq -r '.primary | .link, .ssid' | tr '\n' ' ')"
