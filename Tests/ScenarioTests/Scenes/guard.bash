# Words for the scenes about guards: counts, at the café, what comes from the laptop, and whether it goes to the gateway's OpenVPN.
# shellcheck shell=bash disable=SC2154

watch_guard() {
  on cafe nft -f - <<'NFT'
table inet watch {
  counter endpoint { }
  counter outside { }
  chain passing {
    type filter hook prerouting priority -300
    iifname != "lan0" accept
    ip daddr 203.0.113.10 udp dport 1194 counter name endpoint accept
    meta l4proto { tcp, udp, icmp } counter name outside
    icmpv6 type echo-request counter name outside
  }
}
NFT
  # What is tried, on the laptop itself.
  nft -f - <<'NFT'
table inet tries {
  counter tried { }
  chain sending {
    type filter hook output priority -400
    oifname "lo" accept
    meta l4proto { tcp, udp } counter name tried
  }
}
NFT
}

packets() { jq '[.nftables[].counter.packets // empty] | add'; }
outside() { on cafe nft -j list counter inet watch outside | packets; }
endpoint() { on cafe nft -j list counter inet watch endpoint | packets; }
tried() { nft -j list counter inet tries tried | packets; }

# Forgets what was counted; what was on its way may still come.
forget() {
  sleep 0.2
  on cafe nft reset counters >/dev/null
  nft reset counters >/dev/null
}

have_tried() { (( $(tried) >= $1 )); }

# `0 of many outside`: nothing of at least 500 packets left.
seen_outside() {
  within 30 have_tried 500
  sleep 0.2
  say "$1: $(outside) of many outside"
}

status_of() { roamward status --json | jq -r ".guards[${2:-0}].$1"; }
guards() { roamward status --json | jq '.guards | length'; }
is_closed() { nft list table inet roamward >/dev/null 2>&1; }
is_open() { not is_closed; }

# A guard's program in the background; `program` is its process.
guard() {
  "$bin/roamward" guard "$@" >>"$scene/guard.log" 2>&1 &
  # shellcheck disable=SC2034 # for the scenes
  program=$!
}

# Nothing of guards is left.
nothing_left() {
  is_open && [[ ! -e $scene/state/provider-groups ]] && not compgen -G "$scene/state/guard-*" >/dev/null &&
    not compgen -G "$scene/state/presence-*" >/dev/null
}
