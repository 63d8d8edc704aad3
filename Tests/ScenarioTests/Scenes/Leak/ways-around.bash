# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

watch_places
go cafe
nobody=(setpriv --reuid nobody --regid nogroup --clear-groups)
make_box
# Headers and all written by the program itself, and echoes, bound to the link: seen by themselves.
raw() {
  "$tests/forge" 198.51.100.23 203.0.113.80 wlan0; "$tests/forge" 2001:db8:2::23 2001:db8::80 wlan0
  busybox ping -c 1 -W 1 -I wlan0 203.0.113.80 >/dev/null 2>&1 || true
  busybox ping -6 -c 1 -W 1 -I wlan0 2001:db8::80 >/dev/null 2>&1 || true
}
raw_is_seen() { [[ $(leaked) == *" flow4=5 flow6=5 "* ]]; }
raw; within 5 raw_is_seen; leaked
as=("${nobody[@]}"); see_leaks wlan0; say "bound seen"
as=(nsenter --net=/run/netns/box); see_leaks; say "forwarded seen"
start_agent
tunnel_is corp connected
forget_leaks
as=("${nobody[@]}"); start_strays wlan0; bound=$strays
as=(nsenter --net=/run/netns/box); start_strays; forwarded=$strays
raw; strays_try; say "up $(leaked)"
roamward down corp >/dev/null; within 5 field_is corp state disconnected
raw; strays_try; say "down $(leaked)"
roamward resume corp >/dev/null; tunnel_is corp connected
ip rule add priority 100 lookup main; ip -6 rule add priority 100 lookup main
nft -f - <<NFT
table inet theirs {
$(for hook in prerouting input forward output postrouting; do
  for place in -300 300; do echo "chain $hook$((place + 300)) { type filter hook $hook priority $place; accept; }"; done
done)
}
NFT
as=(); start_strays; plain=$strays
strays_try; say "rules and tables $(leaked)"
within 5 eval 'roamward status | found "rule 100: goes outside"'
roamward status | grep -c 'rule 100: goes outside, because that rule looks up the main table before corp.s; the kill switch blocks it'
for strays in $bound $forwarded $plain; do stop_strays; done
