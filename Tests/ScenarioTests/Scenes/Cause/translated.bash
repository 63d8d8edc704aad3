# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

# The network's translator, as far as the endpoint goes: the gateway has that address itself.
ip -n gateway address add 64:ff9b::cb00:710a/128 dev wan0 nodad
ip -n internet route add 64:ff9b::/96 via 2001:db8::10
server=$(on cafe ss -Hlunp 'sport = :53' | grep -o 'pid=[0-9]*' | head -n 1)
kill "${server#pid=}"
within 2 not kill -0 "${server#pid=}"
on cafe dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --interface=lan0 --pid-file= \
  --host-record=ipv4only.arpa,192.0.0.170,64:ff9b::c000:aa --address=/#/
go cafe
ip -4 address flush dev wlan0
echo 'nameserver 2001:db8:2::1' >"$laptop"/resolv.conf
start_agent
tunnel_is corp connected
field corp endpoint
dry diff >/dev/null && echo "no difference"
say "$(counter repairs)"
go home
within 10 field_is corp endpoint 203.0.113.10:51820
tunnel_is corp connected
stop_agent
