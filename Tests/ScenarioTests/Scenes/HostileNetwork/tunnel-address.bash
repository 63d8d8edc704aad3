# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

sed -i 's|^Address.*|Address = 10.77.0.2/32, 2001:db8:77::2/128|' "$policies"/corp.conf
go cafe
start_agent
tunnel_is corp connected
for node in cafe gateway; do
  from=lan0; [[ $node == cafe ]] || from=gw0
  on $node nft -f - <<NFT
table inet replies {
  counter n { }
  counter n6 { }
  chain c {
    type filter hook prerouting priority -300
    iifname $from ip saddr 10.77.0.2 meta l4proto { tcp, udp } th sport 40000 counter name n
    iifname $from ip6 saddr 2001:db8:77::2 counter name n6
    iifname $from icmp type destination-unreachable counter name n
    iifname $from icmpv6 type destination-unreachable counter name n6
  }
}
NFT
done
# Connections are tracked in a namespace where somebody asks for it.
nft 'table inet track { chain c { type filter hook prerouting priority 0; ct state new counter; }; }'
traces() { grep -cE '(dst=10.77.0.2|dst=2001:0*db8:0*77:[0:]*:0*2) ' /proc/net/nf_conntrack || true; }
answers() { for node in cafe gateway; do on $node nft -j list counters table inet replies | jq '.nftables[].counter.packets // empty'; done | paste -sd ' '; }
# The neighbour knows where the laptop is; from the café's router, and from the internet that the tunnel leads to.
ip -n cafe route add 10.77.0.2/32 via 198.51.100.23 dev lan0
ip -n cafe route add 2001:db8:77::2/128 via 2001:db8:2::23 dev lan0
poke() {
  on cafe "$tests/forge" 198.51.100.1 10.77.0.2
  on cafe "$tests/forge" 203.0.113.80 10.77.0.2
  for from in 2001:db8:2::1 2001:db8::80; do on cafe "$tests/forge" $from 2001:db8:77::2; done
  on cafe busybox ping -6 -c 1 -W 1 2001:db8:77::2 >/dev/null 2>&1 || true
  on cafe busybox arping -c 1 -w 1 -I lan0 -s 198.51.100.1 10.77.0.2 | grep -o 'Received [0-9]*' || true
  # Asked for the address as a neighbour's, whether it is one.
  ip -n cafe route replace 2001:db8:77::2/128 dev lan0
  on cafe busybox ping -6 -c 1 -W 2 2001:db8:77::2 >/dev/null 2>&1 || true
  ip -n cafe -6 neighbour show 2001:db8:77::2 dev lan0 | grep -o 'lladdr' || true
  ip -n cafe route replace 2001:db8:77::2/128 via 2001:db8:2::23 dev lan0
}
for value in 0 1 2; do
  for file in all wlan0 corp; do echo $value >/proc/sys/net/ipv4/conf/$file/rp_filter; done
  poke; sleep 0.2 # no event: answers that must not come
  say "$(answers) $(traces)"
done
kill -STOP "$(agent_pid)"
nft delete table inet roamward; nft delete table arp roamward
poke; sleep 0.2 # no event: answers that must not come
# In both families; the first two counters are the neighbour's.
read -r n n6 _ < <(answers); ((n > 0 && n6 > 0 && $(traces) > 0)) && say "seen without the firewall"
kill -CONT "$(agent_pid)"
within 5 nft list table arp roamward >/dev/null
