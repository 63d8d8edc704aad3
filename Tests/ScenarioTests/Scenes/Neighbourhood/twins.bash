# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

# Both routers hand out the commonest numbers there are, and hide them behind their own.
for place in home cafe; do
  ip -n $place address add 192.168.7.1/24 dev lan0
  on $place nft 'table ip hide { chain c { type nat hook postrouting priority srcnat; oifname "wan0" ip saddr 192.168.7.0/24 masquerade; }; }'
done
settle_in() { ip address flush dev "$1"; ip address add 192.168.7.23/24 dev "$1"; ip route replace default via 192.168.7.1 dev "$1"; }
go home; settle_in eth0
start_agent
within 20 field_is corp decision disconnect
say "at home $(field corp state)"
go cafe; settle_in wlan0
tunnel_is corp connected
within 10 intranet_loads; say "in the café connected"
go home; settle_in eth0
within 20 field_is corp decision disconnect
tunnel_is corp disconnected; say "at home disconnected"
