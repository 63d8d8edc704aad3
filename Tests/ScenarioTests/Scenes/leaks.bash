# Words for the scenes about leaks: counts, on the routers of all places, what comes from the laptop and is not the tunnel's own.
# shellcheck shell=bash disable=SC2154

places=(home cafe mobile)

# The tunnel's own packets go to the gateway's port; a program that sends there too writes "leak" (0x6c65616b).
watch_places() {
  local place
  for place in "${places[@]}"; do
    on "$place" nft -f - <<'NFT'
table inet watch {
  counter flow4 { }
  counter flow6 { }
  counter dns4 { }
  counter dns6 { }
  counter gateway { }
  chain passing {
    type filter hook prerouting priority -300
    iifname != "lan0" accept
    ip daddr 203.0.113.10 udp dport 51820 @th,64,32 != 0x6c65616b accept
    ip daddr 203.0.113.10 counter name gateway accept
    ip version 4 meta l4proto { tcp, udp } th dport 53 counter name dns4 accept
    ip6 version 6 meta l4proto { tcp, udp } th dport 53 counter name dns6 accept
    ip version 4 meta l4proto { tcp, udp, icmp } counter name flow4
    meta l4proto { tcp, udp } ip6 version 6 counter name flow6
    icmpv6 type echo-request counter name flow6
  }
}
NFT
  done
}

# Packets by counter, over all places: `flow4=0 flow6=0 dns4=0 dns6=0 gateway=0`.
leaked() {
  local place
  for place in "${places[@]}"; do on "$place" nft -j list counters table inet watch; done |
    jq -rs '[.[].nftables[].counter // empty] | group_by(.name) | map("\(.[0].name)=\(map(.packets) | add)") | join(" ")'
}

forget_leaks() {
  local place
  for place in "${places[@]}"; do on "$place" nft reset counters >/dev/null; done
}

nothing_leaked() { [[ $(leaked) == "dns4=0 dns6=0 flow4=0 flow6=0 gateway=0" ]]; }

# No counter moves for a while.
is_quiet() {
  local before
  before=$(leaked)
  sleep 0.2 # no event: what is on its way cannot be seen
  [[ $(leaked) == "$before" ]]
}

# Every counter moves.
all_leaked() { [[ $(leaked) != *=0* ]]; }

# As whom: a command to put before, such as `setpriv` or `nsenter`.
as=()
# The files with a byte for each round of strays, by process.
declare -A rounds_of=()

# A container's namespace, `box`, that sends through this machine.
make_box() {
  ip netns add box
  ip link add box0 type veth peer name eth0 netns box
  ip -batch - <<IP
address add 10.99.0.1/24 dev box0
address add 2001:db8:99::1/64 dev box0 nodad
link set box0 up
IP
  ip -n box -batch - <<IP
link set lo up
address add 10.99.0.2/24 dev eth0
address add 2001:db8:99::2/64 dev eth0 nodad
link set eth0 up
route add default via 10.99.0.1
route add default via 2001:db8:99::1
IP
  echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
}

# The script comes by its standard input, for not everybody may read where it lies.
start_strays() {
  local rounds
  rounds=$(mktemp "$scene/rounds-XXXXXX")
  "${as[@]}" perl - "$@" <"$tests/strays" >"$rounds" 2>>"$scene/strays.log" &
  strays=$!
  rounds_of[$strays]=$rounds
}

# Waits until each process of strays that runs has sent everything that often again: then what got out has been counted.
strays_try() {
  local process
  for process in "${!rounds_of[@]}"; do
    ! runs "$process" || within 2 has_rounds "${rounds_of[$process]}" $(($(stat -c %s "${rounds_of[$process]}") + ${1:-50}))
  done
}
has_rounds() { (($(stat -c %s "$1") >= $2)); }

# Takes the streams of strays.
listen_to_strays() {
  # shellcheck disable=SC2016 # perl's variables
  on internet perl -MSocket=:all -e 'socket(my $s, AF_INET6, SOCK_STREAM, 0); bind($s, pack_sockaddr_in6(8888, IN6ADDR_ANY)); listen($s, 64); sleep' \
    >/dev/null 2>&1 &
  within 10 eval 'on internet ss -Hltn sport = :8888 | grep -q .'
}

# How many of them are open.
streams() { on internet ss -Htn state established sport = :8888 | wc -l; }

stop_strays() {
  kill "$strays" 2>/dev/null || { cat "$scene/strays.log"; return 1; }
  wait "$strays" 2>/dev/null || true
}

# Proves that the detector sees every kind of leak, at the place where the laptop is.
see_leaks() {
  forget_leaks
  start_strays "$@"
  within 20 all_leaked
  stop_strays
  # What was on its way may still come.
  within 5 is_quiet
  forget_leaks
}
