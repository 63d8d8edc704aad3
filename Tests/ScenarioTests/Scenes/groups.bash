# Words for scenes of groups: three gateways, whose tunnels take everything. Read by bash after scene.bash.
# shellcheck shell=bash disable=SC2154

# The tunnels paris (10.77.0.2), lyon (10.88.0.2) and tcp (10.89.0.2), each to a server of its own.
three_gateways() {
  local everything='s|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0, ::/0|'
  (
    umask 077
    sed "$everything" "$policies/corp.conf" >"$policies/paris.conf"
    second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 | sed "$everything" >"$policies/lyon.conf"
    second_gateway gw2 10.89.0.1/16 51822 10.89.0.2/32 | sed "$everything" >"$policies/tcp.conf"
  )
  on internet ip route add 10.64.0.0/11 via 203.0.113.10
}

# From here on nothing goes in or out at this port of the gateway.
silence() {
  on gateway nft "table inet silent$1 {
    chain input { type filter hook input priority 0; udp dport $1 drop; }
    chain output { type filter hook output priority 0; udp sport $1 drop; }
  }"
}
answer() { on gateway nft delete table inet "silent$1"; }

# Waits until the web sees the laptop with this address; says whether that took at most so many seconds.
carried_within() {
  local seconds=$1 address=$2 began=${EPOCHREALTIME/./} took
  within "$seconds" seen_as "$address" 203.0.113.80
  took=$(((${EPOCHREALTIME/./} - began) / 1000000))
  echo "through $address after $took s" >>"$scene/looked"
  say "$address $((took <= seconds))"
}
