# shellcheck shell=bash disable=SC2154,SC2034

go cafe
mkdir -p "$scene"/www && echo served >"$scene"/www/index.html
busybox httpd -p 8080 -h "$scene"/www
# A container behind a bridge, with a published port.
ip netns add box
ip link add guests type bridge
ip address add 172.31.0.1/24 dev guests
ip link set guests up
ip link add port0 type veth peer name eth0 netns box
ip link set port0 master guests up
ip -n box address add 172.31.0.2/24 dev eth0
ip -n box link set eth0 up
ip -n box route add default via 172.31.0.1
ip netns exec box busybox httpd -p 80 -h "$scene"/www
echo 1 >/proc/sys/net/ipv4/ip_forward
nft 'table ip publish { chain in { type nat hook prerouting priority dstnat; iifname "wlan0" tcp dport 8081 dnat to 172.31.0.2:80; }; }'
served() { [[ $(on internet curl -s --max-time 2 http://198.51.100.23:"$1"/) == served ]]; }
within 5 served 8080
within 5 served 8081
# The kernel tells of a link's state some time after the link has it.
unknown_states() { ip -j link | jq -e '.[] | select(.ifname != "lo" and .operstate == "UNKNOWN")'; }
within 5 not unknown_states
# From outside: both ports; from inside: how the internet sees this machine's own connections.
ways() { echo "$(served 8080 && echo host || echo -) $(served 8081 && echo container || echo -) $(seen_by 203.0.113.80)"; }
ways_are() { [[ $(ways) == "$1" ]]; }
