# shellcheck shell=bash disable=SC2154,SC2034

prefixes=(10.77.5.99/24 10.77.5.99/16 10.1.2.3/8 fd77::99/64)
on cafe nft 'table inet count { counter n { }; chain c { type filter hook prerouting priority -300
  iifname "lan0" ip daddr 10.77.5.2 counter name n
  iifname "lan0" ip6 daddr fd77::2 counter name n
}; }'
ip -n cafe address add 10.77.5.2/32 dev lan0
ip -n cafe address add fd77::2/128 dev lan0 nodad
count() { on cafe nft -j list counter inet count n | jq '.nftables[].counter.packets // empty'; }
forget() { on cafe nft reset counters table inet count >/dev/null; }
seen() { (( $(count) > 0 )); }
# The way of a network that has gone is closed again.
# No event: packets that must not come.
quiet() { forget; sleep 0.2; not seen; }
perl -MSocket=:all -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0); socket(my $t, AF_INET6, SOCK_DGRAM, 0);
  while (1) { send($s, "leak", 0, pack_sockaddr_in(7777, inet_aton("10.77.5.2")));
    send($t, "leak", 0, pack_sockaddr_in6(7777, inet_pton(AF_INET6, "fd77::2"))); select(undef, undef, undef, 0.01) }' &
sender=$!
# shellcheck disable=SC2046 # several words
attach() { ip address add "$1" dev wlan0 $([[ $1 != *:* ]] || echo nodad); }
detach() { ip address del "$1" dev wlan0; }
has_heard() { (($(counter events) > $1)); }
# Attaches to a prefix and gives where its packets went, as `way`. While a tunnel starts again, as it may on a busy machine,
# they go outside unless a kill switch stops them: that is no measurement.
measure() {
  local since events
  within 5 quiet || exit 1
  since=$(field corp since)
  events=$(counter events)
  forget
  attach "$1"
  # A busy agent hears of it later.
  within 10 has_heard "$events" || exit 1
  sleep 1
  tunnel_is corp connected || exit 1
  if seen; then way=outside; else way=inside; fi
  [[ $guarding == on || $guarding == always || $(field corp since) == "$since" ]]
}
