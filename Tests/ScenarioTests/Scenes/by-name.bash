# Words for scenes about routes by name: each name of shop.example and video.example has addresses of its own, and packets to them are
# counted on the café's router (outside) and in the gateway (inside).
# shellcheck shell=bash disable=SC2154,SC2034

file=$laptop/resolv.conf

# nN.shop.example has 198.18.0.N and 2001:db8:5::N, aN.shop.example is an alias of a name elsewhere with 198.18.1.N and 2001:db8:5:1::N;
# nN.video.example has 198.18.2.N and 2001:db8:5:2::N, for N up to $1. `both.other.example` has the address of n1.shop.example. The café's
# server and the gateway's know the same.
serve_names() {
  local process number place
  for ((number = 1; number <= $1; number++)); do
    echo "host-record=n$number.shop.example,198.18.0.$number,2001:db8:5::$(printf %x "$number")"
    echo "host-record=t$number.elsewhere.example,198.18.1.$number,2001:db8:5:1::$(printf %x "$number")"
    echo "cname=a$number.shop.example,t$number.elsewhere.example"
    echo "host-record=n$number.video.example,198.18.2.$number,2001:db8:5:2::$(printf %x "$number")"
  done >"$scene/names.conf"
  cat >>"$scene/names.conf" <<'CONF'
host-record=both.other.example,198.18.0.1
host-record=lo.shop.example,127.0.0.9
host-record=gw.shop.example,203.0.113.10
host-record=lan.shop.example,198.51.100.77
local-ttl=30
CONF
  for place in cafe gateway; do
    for process in $(on "$place" ss -Hlunp 'sport = :53' | grep -o 'pid=[0-9]*' | sort -u); do kill "${process#pid=}"; done
    within 5 eval "! on $place ss -Hltun 'sport = :53' | grep -q ."
    on "$place" dnsmasq --conf-file="$scene/names.conf" --no-resolv --no-hosts --bind-interfaces --pid-file= --cache-size=0 \
      --listen-address="$([[ $place == cafe ]] && echo 198.51.100.1 || echo 10.77.0.1)" --log-queries --log-facility="$scene/names-$place"
  done
}

# Counts packets to such addresses, at each end of both ways.
watch_ways() {
  local place link
  for place in cafe gateway; do
    link=lan0
    [[ $place == cafe ]] || link=gw0
    on "$place" nft -f - <<NFT
table inet ways {
  counter shop { }
  counter video { }
  chain c {
    type filter hook prerouting priority -300
    iifname != "$link" accept
    ip daddr { 198.18.0.0/23 } counter name shop
    ip6 daddr { 2001:db8:5::/63 } counter name shop
    ip daddr 198.18.2.0/24 counter name video
    ip6 daddr 2001:db8:5:2::/64 counter name video
  }
}
NFT
  done
}

packets() { on "$1" nft list counter inet ways "$2" | grep -o 'packets [0-9]*' | cut -d ' ' -f 2; }
# `shop outside=0 inside=400 video outside=0 inside=0`, since the last time.
ways() {
  within 5 ways_rest
  echo "shop outside=$(packets cafe shop) inside=$(packets gateway shop) video outside=$(packets cafe video) inside=$(packets gateway video)"
  for place in cafe gateway; do on "$place" nft reset counters >/dev/null; done
}
ways_rest() {
  local was
  was="$(packets cafe shop) $(packets gateway shop) $(packets cafe video) $(packets gateway video)"
  sleep 0.2 # no event: what is on its way cannot be seen
  [[ "$(packets cafe shop) $(packets gateway shop) $(packets cafe video) $(packets gateway video)" == "$was" ]]
}

first_packets() { python3 "$tests/first-packets" "$file" "$@" 2>>"$scene/first-packets.log"; }
led() { grep -q 'nameserver 127.82.0.53' "$file"; }
by_name_routes() { ip -4 route show table all proto 82 metric 53; ip -6 route show table all proto 82 metric 53; }
server_pid() { pgrep -f "[r]oamward-names --at-work" || true; }

# The tunnel carries everything that is led into it, of both families.
take_both() {
  take_everything
  sed -i 's|^Address.*|Address = 10.77.0.2/32, fd00:77::2/128|' "$policies/corp.conf"
  on gateway wg set gw0 peer "$(on gateway wg show gw0 peers)" allowed-ips 10.77.0.2/32,fd00:77::2/128
}

# The laptop in the café, with the tunnel up and programs led to our name server.
connect() {
  go cafe
  serve_names "${1:-20}"
  watch_ways
  take_both
  cp -a "$file" "$scene/was"
  start_agent
  tunnel_is corp connected
  within 5 led
}
