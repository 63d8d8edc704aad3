# Words for scenes with a tunnel through another one: what comes from the laptop to the inner tunnel's gateway, outside of every tunnel.
# shellcheck shell=bash disable=SC2154

inner_places=(home cafe mobile)

# The inner gateway has port 51821. Its packets inside the outer tunnel are those of port 51820 here.
watch_inner() {
  local place
  for place in "${inner_places[@]}"; do
    on "$place" nft -f - <<'NFT'
table inet inner {
  counter outside { }
  chain passing {
    type filter hook prerouting priority -300
    iifname "lan0" udp dport 51821 counter name outside
  }
}
NFT
  done
  on gateway nft -f - <<'NFT'
table inet inner {
  counter inside { }
  chain passing {
    type filter hook input priority -300
    udp dport 51821 counter name inside
  }
}
NFT
}

# How many of them have left outside.
inner_packets() {
  local place
  for place in "${inner_places[@]}"; do on "$place" nft -j list counters table inet inner; done |
    jq -s '[.[].nftables[].counter // empty | .packets] | add'
}

# How many have reached the inner gateway, by whatever way.
inner_received() { on gateway nft -j list counters table inet inner | jq '[.nftables[].counter // empty | .packets] | add'; }

# One packet that does leave outside, to prove that it is counted.
prove_watch() { echo proof >/dev/udp/203.0.113.10/51821; }
