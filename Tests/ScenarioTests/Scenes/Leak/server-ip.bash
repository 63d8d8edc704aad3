# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

watch_places
go cafe
make_box
as=(nsenter --net=/run/netns/box); see_leaks
as=(setpriv --reuid nobody --regid nogroup --clear-groups); see_leaks
for file in all wlan0; do echo "$REVERSE_PATH" >/proc/sys/net/ipv4/conf/$file/rp_filter; done
start_agent
tunnel_is corp connected
forget_leaks
start_strays; own=$strays
as=(nsenter --net=/run/netns/box); start_strays; forwarded=$strays
strays_try
for strays in $own $forwarded; do stop_strays; done
leaked
say "$(seen_by 203.0.113.80)"
