#!/usr/bin/env bash
# Two ends of a tunnel in two network namespaces: roamward-wireguard at ours, another implementation of WireGuard at theirs.
#
# interoperation.bash PEER CASE
#
#   PEER   wireguard-go, kernel, or roamward-wireguard
#   CASE   what happens: a function below
#
# Run it in namespaces of its own: unshare --net --mount, as root. $ROAMWARD_BIN has our program.
# Ends with status 0 where everything held; otherwise says what did not.
set -euo pipefail
shopt -s inherit_errexit

peer=$1 case=$2
mount -t tmpfs none /run
mkdir -p /run/netns /run/wireguard
work=/run/work
mkdir "$work"
programs=() options=()
trap 'kill "${programs[@]}" 2>/dev/null || true' EXIT

fail() {
  echo "$peer, $case: $1" >&2
  for end in ours theirs; do
    echo "--- $end" >&2
    ip netns exec "$end" wg show >&2 || true
    ip -n "$end" address >&2 || true
  done
  cat "$work"/*.log >&2 || true
  exit 1
}

# --- the network -------------------------------------------------------------------------------------------------

build_network() {
  ip netns add ours
  ip netns add theirs
  ip link add out0 netns ours type veth peer name out0 netns theirs
  local end number=0
  for end in ours theirs; do
    number=$((number + 1))
    ip -n "$end" link set lo up
    ip -n "$end" address add "192.0.2.$number/24" dev out0
    ip -n "$end" address add "2001:db8::$number/64" dev out0 nodad
    ip -n "$end" link set out0 up
  done
}

# Each end has its own /run/wireguard.
at() {
  local end=$1
  shift
  mkdir -p "/run/sockets-$end"
  # shellcheck disable=SC2016
  ip netns exec "$end" unshare --mount sh -c 'mount --bind "$0" /run/wireguard && exec "$@"' "/run/sockets-$end" "$@"
}

start() {
  local end=$1 what=$2
  case $what in
  kernel) ip -n "$end" link add wg0 type wireguard ;;
  wireguard-go) at "$end" env WG_PROCESS_FOREGROUND=1 wireguard-go --foreground wg0 >"$work/$end.log" 2>&1 & ;;
  *) at "$end" "$ROAMWARD_BIN/roamward-wireguard" "${options[@]}" wg0 >"$work/$end.log" 2>&1 & ;;
  esac
  [[ $what == kernel ]] || programs+=($!)
  program[$end]=${programs[-1]:-}
  within 10 wg_at "$end" show wg0 >/dev/null 2>&1 || fail "the engine of $end does not start"
}

declare -A program=() private=() public=()

wg_at() {
  local end=$1
  shift
  at "$end" wg "$@"
}

# Keys, addresses inside, and the peer; endpoints are set by who is to begin.
configure() {
  local end=$1 other=$2 number=$3
  ip -n "$end" address add "10.9.0.$number/24" dev wg0
  ip -n "$end" address add "2001:db8:9::$number/64" dev wg0 nodad
  ip -n "$end" link set wg0 mtu 1420 up
  echo "${private[$end]}" >"$work/$end.key"
  wg_at "$end" set wg0 private-key "$work/$end.key" listen-port 51820 \
    peer "${public[$other]}" ${preshared:+preshared-key "$preshared"} allowed-ips 10.9.0.0/24,2001:db8:9::/64
}

endpoint() { wg_at "$1" set wg0 peer "${public[$2]}" endpoint "$3"; }

build() {
  build_network
  local end
  for end in ours theirs; do
    private[$end]=$(wg genkey)
    public[$end]=$(wg pubkey <<<"${private[$end]}")
  done
  start ours roamward-wireguard
  start theirs "$peer"
  configure ours theirs 1
  configure theirs ours 2
}

# --- what is checked ---------------------------------------------------------------------------------------------

within() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.1
  done
}

pings() { ip netns exec "$1" busybox ping -c 1 -W 1 "$2" >/dev/null 2>&1; }

# From one end to the other and back, by both families, and bytes by TCP in both directions.
both_ways() {
  within 15 pings "$1" "$3" || fail "no answer to a ping from $1"
  local six=2001:db8:9::${3##*.}
  within 5 pings "$1" "$six" || fail "no answer to a ping by IPv6 from $1"
  carries "$1" "$2" "$3"
  carries "$1" "$2" "$six"
  carries "$2" "$1" "10.9.0.$((3 - ${3##*.}))"
}

# 8 MiB arrive as they were sent.
carries() {
  local from=$1 to=$2 address=$3
  [[ -f $work/data ]] || head -c 8388608 /dev/urandom >"$work/data"
  ip netns exec "$to" timeout 30 busybox nc -l -p 9000 -e sh -c "cat >$work/arrived" &
  local server=$!
  within 5 listens "$to" || fail 'no listener'
  ip netns exec "$from" timeout 30 busybox nc "$address" 9000 <"$work/data" >/dev/null || fail "TCP from $from to $address does not end well"
  wait "$server" || fail "TCP at $to does not end well"
  cmp -s "$work/data" "$work/arrived" || fail "what went from $from to $address arrived changed"
}

listens() { [[ -n $(ip netns exec "$1" ss -Hltn 'sport = 9000') ]]; }

# --- cases -------------------------------------------------------------------------------------------------------

we_begin() {
  build
  endpoint ours theirs 192.0.2.2:51820
  both_ways ours theirs 10.9.0.2
}

they_begin() {
  build
  endpoint theirs ours 192.0.2.1:51820
  both_ways theirs ours 10.9.0.1
}

outer_ipv6() {
  build
  endpoint ours theirs '[2001:db8::2]:51820'
  both_ways ours theirs 10.9.0.2
}

they_begin_by_ipv6() {
  build
  endpoint theirs ours '[2001:db8::1]:51820'
  both_ways theirs ours 10.9.0.1
}

preshared_key() {
  preshared=$work/preshared
  (umask 077 && wg genpsk >"$preshared")
  build
  endpoint ours theirs 192.0.2.2:51820
  both_ways ours theirs 10.9.0.2
  # A wrong one lets nothing through.
  (umask 077 && wg genpsk >"$preshared")
  wg_at theirs set wg0 peer "${public[ours]}" preshared-key "$preshared"
  wg_at ours set wg0 peer "${public[theirs]}" remove
  wg_at ours set wg0 peer "${public[theirs]}" endpoint 192.0.2.2:51820 allowed-ips 10.9.0.0/24
  ! within 2 pings ours 10.9.0.2 || fail 'a wrong preshared key is accepted'
}

without_offloads() {
  options=(--no-offload)
  build
  endpoint ours theirs 192.0.2.2:51820
  both_ways ours theirs 10.9.0.2
}

roaming() {
  build
  endpoint ours theirs 192.0.2.2:51820
  both_ways ours theirs 10.9.0.2
  # We move: to another address, then to another family.
  ip -n ours address delete 192.0.2.1/24 dev out0
  ip -n ours address add 192.0.2.7/24 dev out0
  within 5 pings ours 10.9.0.2 || fail 'no answer after we moved'
  wg_at theirs show wg0 endpoints | grep -q 192.0.2.7: || fail 'they do not follow us'
  # They move.
  ip -n theirs address delete 192.0.2.2/24 dev out0
  ip -n theirs address add 192.0.2.8/24 dev out0
  # wireguard-go goes on sending from its old address until its next handshake.
  within 40 pings theirs 10.9.0.1 || fail 'no answer after they moved'
  wg_at ours show wg0 endpoints | grep -q 192.0.2.8: || fail 'we do not follow them'
  endpoint ours theirs '[2001:db8::2]:51820'
  within 5 pings ours 10.9.0.2 || fail 'no answer by IPv6'
  wg_at theirs show wg0 endpoints | grep -q '2001:db8::1' || fail 'they do not follow us to IPv6'
  # Another port.
  wg_at ours set wg0 listen-port 51999
  within 5 pings ours 10.9.0.2 || fail 'no answer from another port'
  wg_at theirs show wg0 endpoints | grep -q ':51999' || fail 'they do not follow us to another port'
}

# We have several addresses: they are answered from the one that they know, also after it has gone and come back.
several_addresses() {
  build
  ip -n ours address add 192.0.2.11/24 dev out0
  ip -n ours address add 2001:db8::11/64 dev out0 nodad
  endpoint theirs ours 192.0.2.11:51820
  both_ways theirs ours 10.9.0.1
  knows theirs 192.0.2.11: || fail 'we answer from another address than they ask'
  ip -n ours address delete 192.0.2.11/24 dev out0
  within 15 pings ours 10.9.0.2 || fail 'no answer after the address went'
  within 15 knows theirs 192.0.2.1: || fail 'they do not follow us to the address that is left'
  within 15 answers_from 2001:db8::11 || fail 'we answer from another IPv6 address than they ask'
  both_ways theirs ours 10.9.0.1
  knows theirs 2001:db8::11 || fail 'we do not stay at the IPv6 address that they ask'
}

# They ask there, and are answered from there. What we were sending meanwhile may have led them back: then once more.
answers_from() {
  endpoint theirs ours "[$1]:51820"
  pings theirs 10.9.0.1 && knows theirs "$1"
}

knows() { [[ $(wg_at "$1" show wg0 endpoints) == *"$2"* ]]; }

they_restart() {
  build
  endpoint ours theirs 192.0.2.2:51820
  endpoint theirs ours 192.0.2.1:51820
  both_ways ours theirs 10.9.0.2
  restart theirs "$peer"
  configure theirs ours 2
  endpoint theirs ours 192.0.2.1:51820
  both_ways theirs ours 10.9.0.1
}

we_restart() {
  build
  endpoint ours theirs 192.0.2.2:51820
  endpoint theirs ours 192.0.2.1:51820
  both_ways ours theirs 10.9.0.2
  restart ours roamward-wireguard
  configure ours theirs 1
  endpoint ours theirs 192.0.2.2:51820
  both_ways ours theirs 10.9.0.2
}

restart() {
  ip -n "$1" link delete wg0
  [[ $2 == kernel ]] || within 5 is_gone "${program[$1]}" || fail "the engine of $1 does not end with its link"
  start "$1" "$2"
}

is_gone() { ! kill -0 "$1" 2>/dev/null; }

# A narrow path: what we send is fragmented, and nothing is lost for good.
narrow_path() {
  build
  endpoint ours theirs 192.0.2.2:51820
  both_ways ours theirs 10.9.0.2
  ip -n ours link set out0 mtu 1300
  ip -n theirs link set out0 mtu 1300
  both_ways ours theirs 10.9.0.2
}

# Of every size around the limits: padding, the MTU, fragments.
datagrams() {
  build
  endpoint ours theirs 192.0.2.2:51820
  within 10 pings ours 10.9.0.2 || fail 'no answer'
  local size
  for size in 0 1 15 16 17 100 1000 1391 1392 1393 4000 20000 60000; do
    ip netns exec ours busybox ping -c 2 -i 0.1 -W 2 -s "$size" 10.9.0.2 >/dev/null || fail "no answer to $size bytes"
    ip netns exec theirs busybox ping -c 2 -i 0.1 -W 2 -s "$size" 10.9.0.1 >/dev/null || fail "no answer to their $size bytes"
  done
}

wg_shows() {
  build
  endpoint ours theirs 192.0.2.2:51820
  wg_at ours set wg0 fwmark 0x52 peer "${public[theirs]}" persistent-keepalive 25
  both_ways ours theirs 10.9.0.2
  local -a words
  read -ra words < <(wg_at ours show wg0 dump | sed -n 1p)
  [[ ${words[*]} == "${private[ours]} ${public[ours]} 51820 0x52" ]] || fail "wg shows: ${words[*]}"
  read -ra words < <(wg_at ours show wg0 dump | sed -n 2p)
  [[ ${words[0]} == "${public[theirs]}" && ${words[2]} == 192.0.2.2:51820 && ${words[3]} == 10.9.0.0/24,2001:db8:9::/64 ]] ||
    fail "wg shows: ${words[*]}"
  ((words[4] > 0 && words[5] > 8388608 && words[6] > 8388608 && words[7] == 25)) || fail "wg shows: ${words[*]}"
}

"$case"
echo "$peer, $case: well"
