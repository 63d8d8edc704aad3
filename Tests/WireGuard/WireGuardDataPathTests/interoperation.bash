#!/usr/bin/env bash
# Two ends of a tunnel in two network namespaces: roamward-wireguard at ours, another implementation of WireGuard at theirs.
#
# interoperation.bash PEER CASE ...
#
#   PEER   wireguard-go, kernel, or roamward-wireguard
#   CASE   what happens: a function below. Each begins without sessions; the network and, where they can, the engines are those of the case
#          before
#
# Run it in namespaces of its own: unshare --net --mount --pid --fork --kill-child --mount-proc, as root. $ROAMWARD_BIN has our program;
# $INTEROPERATION_CIPHER is the library that encrypts (none: the fastest), $INTEROPERATION_PAIRS the most pairs of threads (none: one for
# each processor), and $INTEROPERATION_BYTES how much a TCP connection carries (8 MiB; fewer for a machine in software). Ends with status 0
# where everything held; otherwise says what did not.
set -euo pipefail
shopt -s inherit_errexit

peer=$1 case=''
"$(dirname "${BASH_SOURCE[0]}")/../../../examples/walk/cover" /run "$ROAMWARD_BIN"
mkdir -p /run/netns /run/wireguard
work=/run/work
mkdir "$work"
programs=() options=() started=() preshared='' patience=30 bytes=${INTEROPERATION_BYTES:-8388608}
trap 'rm -f "$work/flowing"; kill "${programs[@]}" 2>/dev/null || true' EXIT

fail() {
  echo "$peer, $case: $1" >&2
  for end in ours theirs; do
    echo "--- $end" >&2
    at "$end" wg show >&2 || true
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
  local end
  for end in ours theirs; do
    separate "$end"
    ip -n "$end" link set lo up
    ip -n "$end" link set out0 up
    private[$end]=$(wg genkey)
    public[$end]=$(wg pubkey <<<"${private[$end]}")
  done
}

address_network() {
  local end number=0
  for end in ours theirs; do
    number=$((number + 1))
    ip -n "$end" link set out0 mtu 1500
    ip -n "$end" -4 address flush dev out0
    ip -n "$end" -6 address flush dev out0 scope global
    ip -n "$end" address add "192.0.2.$number/24" dev out0
    ip -n "$end" address add "2001:db8::$number/64" dev out0 nodad
  done
}

# Runs a command at an end. Each has its own /run/wireguard.
at() {
  local end=$1
  shift
  nsenter --net="/run/netns/$end" --mount="$work/$end.mounts" -- "$@"
}

# Keeps a mount namespace for the end, so that running a command there takes no more than entering.
separate() {
  local end=$1
  mkdir "/run/sockets-$end"
  # shellcheck disable=SC2016
  unshare --mount sh -c 'mount --bind "$0" /run/wireguard && echo $$ >"$1" && exec sleep 86400' "/run/sockets-$end" "$work/$end.pid" &
  programs+=($!)
  within $patience test -s "$work/$end.pid" || fail 'no mount namespace'
  ln -s "/proc/$(<"$work/$end.pid")/ns/mnt" "$work/$end.mounts"
}

start() {
  local end=$1 what=$2
  case $what in
  kernel) ip -n "$end" link add wg0 type wireguard ;;
  wireguard-go) at "$end" env WG_PROCESS_FOREGROUND=1 wireguard-go --foreground wg0 >"$work/$end.log" 2>&1 & ;;
  *) at "$end" "$ROAMWARD_BIN/roamward-wireguard" ${INTEROPERATION_CIPHER:+--cipher "$INTEROPERATION_CIPHER"} \
    ${INTEROPERATION_PAIRS:+--pairs "$INTEROPERATION_PAIRS"} "${options[@]}" wg0 >"$work/$end.log" 2>&1 & ;;
  esac
  [[ $what == kernel ]] || programs+=($!)
  program[$end]=${programs[-1]:-}
  within $patience wg_at "$end" show wg0 >/dev/null 2>&1 || fail "the engine of $end does not start"
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
  ip -n "$end" address replace "10.9.0.$number/24" dev wg0
  ip -n "$end" address replace "2001:db8:9::$number/64" dev wg0 nodad
  ip -n "$end" link set wg0 mtu 1420 up
  echo "${private[$end]}" >"$work/$end.key"
  wg_at "$end" set wg0 private-key "$work/$end.key" listen-port 51820 \
    peer "${public[$other]}" ${preshared:+preshared-key "$preshared"} allowed-ips 10.9.0.0/24,2001:db8:9::/64
}

endpoint() { wg_at "$1" set wg0 peer "${public[$2]}" endpoint "$3"; }

build() {
  if [[ -e /run/netns/ours ]]; then
    local end
    for end in ours theirs; do wg_at "$end" set wg0 fwmark 0 peer "$(wg_at "$end" show wg0 peers)" remove; done
  else
    build_network
  fi
  address_network
  # Ours begins anew for other options alone.
  if [[ ! -v program[ours] ]]; then
    start ours roamward-wireguard
    start theirs "$peer"
  elif [[ ${started[*]} != "${options[*]}" ]]; then
    restart ours roamward-wireguard
  fi
  started=("${options[@]}")
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

pings() { at "$1" busybox ping -c 1 -W 1 "$2" >/dev/null 2>&1; }

# From one end to the other and back, by both families, and bytes by TCP in both directions, one by each family.
both_ways() {
  within $patience pings "$1" "$3" || fail "no answer to a ping from $1"
  local six=2001:db8:9::${3##*.}
  within $patience pings "$1" "$six" || fail "no answer to a ping by IPv6 from $1"
  carries "$1" "$2" "$six"
  carries "$2" "$1" "10.9.0.$((3 - ${3##*.}))"
}

# What is sent by TCP arrives as it was.
carries() {
  local from=$1 to=$2 address=$3
  [[ -f $work/data ]] || head -c "$bytes" /dev/urandom >"$work/data"
  at "$to" timeout 900 busybox nc -l -p 9000 -e sh -c "cat >$work/arrived" &
  local server=$!
  within $patience listens "$to" || fail 'no listener'
  at "$from" timeout 900 busybox nc "$address" 9000 <"$work/data" >/dev/null || fail "TCP from $from to $address does not end well"
  wait "$server" || fail "TCP at $to does not end well"
  cmp -s "$work/data" "$work/arrived" || fail "what went from $from to $address arrived changed"
}

listens() { [[ -n $(at "$1" ss -Hltn "sport = ${2:-9000}") ]]; }

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
  preshared=
}

without_offloads() {
  options=(--no-offload)
  build
  options=()
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
  within $patience pings ours 10.9.0.2 || fail 'no answer after we moved'
  wg_at theirs show wg0 endpoints | grep -q 192.0.2.7: || fail 'they do not follow us'
  # They move.
  ip -n theirs address delete 192.0.2.2/24 dev out0
  ip -n theirs address add 192.0.2.8/24 dev out0
  # wireguard-go goes on sending from its old address until its next handshake.
  within $((2 * patience)) pings theirs 10.9.0.1 || fail 'no answer after they moved'
  wg_at ours show wg0 endpoints | grep -q 192.0.2.8: || fail 'we do not follow them'
  within $patience reaches_by_ipv6 || fail 'they do not follow us to IPv6'
  # Another port.
  wg_at ours set wg0 listen-port 51999
  within $patience pings ours 10.9.0.2 || fail 'no answer from another port'
  wg_at theirs show wg0 endpoints | grep -q ':51999' || fail 'they do not follow us to another port'
}

# We ask them by IPv6, and they answer there. Their answer to a handshake that we began before brings us back to IPv4, as it must, if it
# comes after the change: then, and only then, we change once more.
reaches_by_ipv6() {
  endpoint ours theirs '[2001:db8::2]:51820'
  pings ours 10.9.0.2 || return 1
  knows theirs 2001:db8::1 && return
  knows ours 192.0.2.8: || fail 'they do not follow us to IPv6, where we are'
  return 1
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
  within $patience pings ours 10.9.0.2 || fail 'no answer after the address went'
  within $patience knows theirs 192.0.2.1: || fail 'they do not follow us to the address that is left'
  answers_from 2001:db8::11 || fail 'we answer from another IPv6 address than they ask'
  both_ways theirs ours 10.9.0.1
  knows theirs 2001:db8::11 || fail 'we do not stay at the IPv6 address that they ask'
}

# They ask there, and are answered from there.
answers_from() {
  endpoint theirs ours "[$1]:51820"
  at theirs busybox ping -c 1 -W 5 10.9.0.1 >/dev/null && knows theirs "$1"
}

# A peer comes from another port, as after a NAT rebinding, and asks another of our addresses each time: the first answer reaches it,
# from the address that it asked.
rebinding() {
  build
  ip -n ours address add 192.0.2.11/24 dev out0
  ip -n ours address add 2001:db8::11/64 dev out0 nodad
  endpoint theirs ours 192.0.2.1:51820
  both_ways theirs ours 10.9.0.1
  local -a asked=(192.0.2.1 192.0.2.11 '[2001:db8::1]' '[2001:db8::11]')
  local move lost=0 strayed=0
  for move in {1..30}; do
    wg_at theirs set wg0 listen-port $((52000 + move)) peer "${public[ours]}" endpoint "${asked[move % 4]}:51820"
    # What is sent to where they were is lost for good, however long one waits.
    at theirs busybox ping -c 1 -W 5 10.9.0.1 >/dev/null || lost=$((lost + 1))
    knows theirs "${asked[move % 4]}:51820" || strayed=$((strayed + 1))
  done
  ((lost == 0 && strayed == 0)) || fail "of 30 first answers $lost were lost, and $strayed came from another address than was asked"
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
  [[ $2 == kernel ]] || within $patience is_gone "${program[$1]}" || fail "the engine of $1 does not end with its link"
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

# The way is narrower behind a router: it fragments what we send, or has us do that (IPv6), and nothing is lost for good.
narrow_router() {
  build
  ip netns add router
  local end number=0 far
  for end in ours theirs; do
    number=$((number + 1)) far=$((3 - number))
    ip link add mid0 netns "$end" type veth peer name "to-$end" netns router
    ip -n "$end" address add "198.51.100.$((16 * number + 1))/28" dev mid0
    ip -n "$end" address add "2001:db8:$number::1/64" dev mid0 nodad
    ip -n router address add "198.51.100.$((16 * number + 2))/28" dev "to-$end"
    ip -n router address add "2001:db8:$number::2/64" dev "to-$end" nodad
    ip -n "$end" link set mid0 up
    ip -n router link set "to-$end" up
    ip -n "$end" route add "198.51.100.$((16 * far))/28" via "198.51.100.$((16 * number + 2))"
    ip -n "$end" -6 route add "2001:db8:$far::/64" via "2001:db8:$number::2"
  done
  ip netns exec router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
  ip -n theirs link set mid0 mtu 1300
  ip -n router link set to-theirs mtu 1300
  for address in 198.51.100.33 '[2001:db8:2::1]'; do
    endpoint ours theirs "$address:51820"
    both_ways ours theirs 10.9.0.2
    knows ours "${address//[][]/}" || fail "the way does not lead by $address"
  done
  # shellcheck disable=SC2016
  (($(ip netns exec router awk '/^Ip: [0-9]/ { print $18 }' /proc/net/snmp) > 0)) || fail 'nothing was fragmented by the router'
  # shellcheck disable=SC2016
  (($(ip netns exec router awk '$1 == "Icmp6OutPktTooBigs" { print $2 }' /proc/net/snmp6) > 0)) || fail 'the router never said that a packet is too big'
  endpoint ours theirs 192.0.2.2:51820
  within $patience pings ours 10.9.0.2 || fail 'no answer by the direct way'
  ip netns delete router
}

# One datagram of twenty is lost, both ways: the tunnel adds no loss of its own, and what arrives is whole.
lossy() {
  build
  endpoint ours theirs 192.0.2.2:51820
  within $patience pings ours 10.9.0.2 || fail 'no answer'
  local end
  for end in ours theirs; do
    # Each datagram by itself, not 64 KiB at once.
    ip -n "$end" link set out0 gso_max_segs 1
    at "$end" nft -f - <<'NFT'
table netdev loss {
  counter lost { }
  chain in {
    type filter hook ingress device out0 priority 0;
    udp dport 51820 numgen random mod 20 < 1 counter name lost drop
  }
}
NFT
  done
  both_ways ours theirs 10.9.0.2
  for end in ours theirs; do
    (($(at "$end" nft --json list counter netdev loss lost | grep -o '"packets": *[0-9]*' | grep -o '[0-9]*$') > 3)) || fail 'nothing was lost'
    at "$end" nft delete table netdev loss
    ip -n "$end" link set out0 gso_max_segs 65535
  done
}

# Two clients at the same port: what one sends in the other's name does not come out, and what is for one does not go to the other.
two_clients() {
  build
  ip netns add third
  separate third
  ip link add third0 netns ours type veth peer name out0 netns third
  private[third]=$(wg genkey)
  public[third]=$(wg pubkey <<<"${private[third]}")
  ip -n ours address add 198.51.100.1/24 dev third0
  ip -n third address add 198.51.100.3/24 dev out0
  for end in lo out0; do ip -n third link set "$end" up; done
  ip -n ours link set third0 up
  start third roamward-wireguard
  configure third ours 3
  wg_at ours set wg0 peer "${public[theirs]}" allowed-ips 10.9.0.2/32 peer "${public[third]}" allowed-ips 10.9.0.3/32
  endpoint third ours 198.51.100.1:51820
  endpoint theirs ours 192.0.2.1:51820
  within $patience pings third 10.9.0.1 || fail 'no answer to the one client'
  within $patience pings theirs 10.9.0.1 || fail 'no answer to the other client'
  at ours nft -f - <<'NFT'
table inet clients {
  counter forged { }
  counter own { }
  chain in {
    type filter hook input priority 0;
    iifname wg0 ip saddr 10.9.0.2 icmp type echo-request counter name forged
    iifname wg0 ip saddr 10.9.0.3 icmp type echo-request counter name own
  }
}
NFT
  at third nft -f - <<'NFT'
table inet clients {
  counter strange { }
  chain in { type filter hook input priority 0; iifname wg0 ip daddr 10.9.0.2 counter name strange; }
}
NFT
  ip -n third address add 10.9.0.2/32 dev wg0
  local address
  for address in 10.9.0.3 10.9.0.2; do at third busybox ping -c 10 -i 0.05 -W 1 -I "$address" 10.9.0.1 >/dev/null || true; done
  at ours busybox ping -c 5 -i 0.2 -W "$patience" 10.9.0.2 >/dev/null || fail 'the other client is not there any more'
  within $patience count_of ours clients own || fail "not a packet of the client's own arrived"
  ! count_of ours clients forged || fail 'a client speaks in the name of another'
  ! count_of third clients strange || fail 'what was for one client went to another'
  [[ $(wg_at ours show wg0 endpoints) == *192.0.2.2:51820* ]] || fail 'a forged packet moved the other client'
  at ours nft delete table inet clients
  wg_at ours set wg0 peer "${public[third]}" remove
  ip -n third link delete wg0
  ip netns delete third
}

# Whether a counter has counted.
count_of() { (($(at "$1" nft --json list counter inet "$2" "$3" | grep -o '"packets": *[0-9]*' | grep -o '[0-9]*$') > 0)); }

# Of every size around the limits: padding, the MTU, fragments.
datagrams() {
  build
  endpoint ours theirs 192.0.2.2:51820
  within $patience pings ours 10.9.0.2 || fail 'no answer'
  local size
  for size in 0 1 15 16 17 100 1000 1391 1392 1393 4000 20000 60000; do
    # The other implementation's socket may lose one of the many fragments while it waits for a processor.
    within $patience at ours busybox ping -c 2 -i 0.1 -W 2 -s "$size" 10.9.0.2 >/dev/null || fail "no answer to $size bytes"
    within $patience at theirs busybox ping -c 2 -i 0.1 -W 2 -s "$size" 10.9.0.1 >/dev/null || fail "no answer to their $size bytes"
  done
}

# Both get new keys, and so sessions, again and again, while bytes flow in both directions; all of them arrive.
rekey_under_load() {
  build
  endpoint ours theirs 192.0.2.2:51820
  endpoint theirs ours 192.0.2.1:51820
  within $patience pings ours 10.9.0.2 || fail 'no answer'
  : >"$work/flowing"
  flow ours theirs 10.9.0.2 9001
  flow theirs ours 10.9.0.1 9002
  local end round
  (umask 077 && wg genkey >"$work/another.key")
  for round in 1 2; do
    for end in theirs ours; do
      sessions=$(newest_session)
      # Sessions are told apart by the second.
      until ((EPOCHSECONDS > sessions)); do sleep 0.1; done
      # The sessions of a key end with it.
      wg_at "$end" set wg0 private-key "$work/another.key"
      wg_at "$end" set wg0 private-key "$work/$end.key"
      within $((2 * patience)) has_newer_session || fail "no new session after $end had another key ($round)"
    done
  done
  rm "$work/flowing"
  for flow in "${flows[@]}"; do wait "$flow" || fail 'a connection broke'; done
  local port
  for port in 9001 9002; do
    within $patience cmp -s "$work/sent.$port" "$work/got.$port" || fail "what was sent to $port arrived changed: $(cat "$work"/{sent,got}.$port)"
    [[ $(cut -d ' ' -f 2 "$work/got.$port") -gt 0 ]] || fail "nothing was sent to $port"
  done
}

newest_session() { wg_at ours show wg0 latest-handshakes | cut -f 2; }

has_newer_session() { (($(newest_session) > sessions)); }

flows=()

# Bytes until $work/flowing goes; what went and what came, by checksum and length.
flow() {
  local from=$1 to=$2 address=$3 port=$4
  [[ -f $work/data ]] || head -c "$bytes" /dev/urandom >"$work/data"
  at "$to" timeout 900 busybox nc -l -p "$port" -e sh -c "cksum >$work/got.$port" &
  flows+=($!)
  within $patience listens "$to" "$port" || fail 'no listener'
  # shellcheck disable=SC2016
  at "$from" timeout 900 bash -c 'set -o pipefail
    mkfifo "$0/fifo.$2"
    cksum <"$0/fifo.$2" >"$0/sent.$2" &
    while [[ -e $0/flowing ]]; do cat "$0/data" || break; done | tee "$0/fifo.$2" | busybox nc "$1" "$2" >/dev/null
    wait' "$work" "$address" "$port" &
  flows+=($!)
}

# The way to the peer leads into the tunnel by mistake: nothing circles, and it works again when the mistake is gone.
routing_loop() {
  build
  endpoint ours theirs 192.0.2.2:51820
  within $patience pings ours 10.9.0.2 || fail 'no answer'
  wg_at ours set wg0 peer "${public[theirs]}" allowed-ips 0.0.0.0/0
  ip -n ours route add 192.0.2.2/32 dev wg0
  local before after
  before=$(sent_bytes)
  ! within 3 pings ours 10.9.0.2 || fail 'a ping gets through, so there was no loop to break'
  at ours busybox ping -c 5 -i 0.2 -W 1 192.0.2.2 >/dev/null || true
  after=$(sent_bytes)
  ((after - before < 70000)) || fail "$((after - before)) bytes went round"
  ip -n ours route delete 192.0.2.2/32 dev wg0
  within $patience pings ours 10.9.0.2 || fail 'no answer after the loop was gone'
}

sent_bytes() { wg_at ours show wg0 transfer | cut -f 3; }

# Links and addresses that come and go on the machine, as those of containers, are not ours to wake up for.
others_links() {
  build
  endpoint ours theirs 192.0.2.2:51820
  within $patience pings ours 10.9.0.2 || fail 'no answer'
  local before after i
  before=$(wakeups)
  for i in {1..30}; do
    ip -n ours link add "other$i" type veth peer name "peer$i"
    ip -n ours link set "other$i" up
    ip -n ours link set "peer$i" up
    ip -n ours link delete "other$i"
  done
  after=$(wakeups)
  # A keepalive or two may have been due.
  ((after - before < 15)) || fail "woken $((after - before)) times by 30 links of others"
}

# Nobody takes a packet: its sender is told at once, as by the kernel's WireGuard, by both families.
no_peer() {
  build
  endpoint ours theirs 192.0.2.2:51820
  wg_at ours set wg0 peer "${public[theirs]}" allowed-ips 10.9.0.2/32,2001:db8:9::2/128
  both_ways ours theirs 10.9.0.2
  local address what
  for address in 10.9.0.77 2001:db8:9::77; do
    what=$(at ours busybox nc -w 15 "$address" 9 2>&1 </dev/null || true)
    [[ $what == *'No route to host'* ]] || fail "a connection to $address, of no peer, is not refused at once: $what"
  done
  both_ways ours theirs 10.9.0.2
}

# A thread may end meanwhile.
wakeups() { { cat /proc/"$(engine_of ours)"/task/*/status 2>/dev/null || true; } | awk '$1 == "voluntary_ctxt_switches:" { n += $2 } END { print n }'; }

# The process that handles the packets of an end of ours.
engine_of() {
  local process
  for process in $(ip netns pids "$1"); do
    [[ $(tr '\0' ' ' <"/proc/$process/cmdline") == *'roamward-wireguard --at-work wg0 '* ]] || continue
    echo "$process"
  done
}

# The process that handles our packets has no privilege, nothing of whoever started it, and no memory that is written and executed.
confined() {
  build
  endpoint ours theirs 192.0.2.2:51820
  within $patience pings ours 10.9.0.2 || fail 'no answer'
  local process task found looked
  process=$(engine_of ours)
  looked=''
  for task in /proc/"$process"/task/*/status; do
    # A thread may end meanwhile.
    found=$(cat "$task" 2>/dev/null) || continue
    found=$(awk '/^Cap/ { if ($2 !~ /^0+$/) print } /^NoNewPrivs/ && $2 != 1 || /^Seccomp:/ && $2 != 2 || /^[UG]id/ && !($2 && $3 && $4 && $5)' <<<"$found")
    looked=yes
    [[ -z $found ]] || fail "a thread of the engine has: $found"
  done
  [[ -n $looked ]] || fail 'no thread of the engine can be looked at'
  found=$(awk '$2 ~ /w/ && $2 ~ /x/' "/proc/$process/maps")
  [[ -z $found ]] || fail "memory that is written and executed: $found"
  [[ $(readlink "/proc/$process/cwd") == / ]] || fail "its folder is $(readlink "/proc/$process/cwd")"
  [[ $(tr '\0' ' ' <"/proc/$process/environ") == 'ROAMWARD_LINK=wg0 ' ]] || fail "its environment is $(tr '\0' ' ' <"/proc/$process/environ")"
  # Standard error is for what goes wrong; everything else is what it was given, or has made itself.
  found=$(find "/proc/$process/fd" -not -name 2 -lname '/*' -printf '%f %l\n' | grep -v -e '^[01] /dev/null$' -e '^\(3\|[7-9]\|[12][0-9]\) /dev/net/tun$') || true
  [[ -z $found ]] || fail "it has files open: $found"
}

# Our link is moved into another network namespace, as a container's only way out (wireguard.com/netns); its sockets stay. It works there,
# goes down and comes up there, and the engine ends when it is deleted there.
moved_link() {
  build
  endpoint ours theirs 192.0.2.2:51820
  both_ways ours theirs 10.9.0.2
  wg_at ours set wg0 peer "${public[theirs]}" persistent-keepalive 1
  ip netns add inner
  move_link
  works_inside
  ip -n inner link set wg0 down
  within $patience is_silent || fail 'a link that is down elsewhere still sends keepalives'
  ip -n inner link set wg0 up
  works_inside
  ip -n inner link delete wg0
  within $patience is_gone "${program[ours]}" || fail 'the engine does not end with its link, elsewhere'
  # Moved before it has ever been up, and set up there.
  start ours roamward-wireguard
  move_link
  wg_at ours set wg0 private-key "$work/ours.key" listen-port 51820 \
    peer "${public[theirs]}" endpoint 192.0.2.2:51820 allowed-ips 10.9.0.0/24,2001:db8:9::/64
  works_inside
  # The namespace goes, and the link with it.
  ip netns delete inner
  within $patience is_gone "${program[ours]}" || fail 'the engine does not end with its namespace'
  start ours roamward-wireguard
  configure ours theirs 1
}

move_link() {
  ip -n ours link set wg0 netns inner
  ip -n inner address add 10.9.0.1/24 dev wg0
  ip -n inner link set wg0 up
}

works_inside() {
  ip netns exec inner busybox ping -c 1 -W 10 10.9.0.2 >/dev/null || fail 'no answer to a ping from the other namespace'
  at theirs busybox ping -c 1 -W 10 10.9.0.1 >/dev/null || fail 'no answer to a ping into the other namespace'
}

# Our engine hears that the link went down when the link is up again and has sent: no session is dropped after that.
late_news() {
  build
  endpoint ours theirs 192.0.2.2:51820
  within $patience pings ours 10.9.0.2 || fail 'no answer'
  local process i
  process=$(engine_of ours)
  for i in {1..10}; do
    kill -STOP "$process"
    ip -n ours link set wg0 down
    ip -n ours link set wg0 up
    { sleep 0.3 && kill -CONT "$process"; } &
    at ours busybox ping -c 1 -W 10 10.9.0.2 >/dev/null || fail "the first packet after the link came up is lost, the ${i}th time"
  done
}

is_silent() {
  local before
  before=$(sent_bytes)
  sleep 2.5
  [[ $(sent_bytes) == "$before" ]]
}

# Two of ours: the outer header has the inner ECN bits and no DSCP, and a mark on the way is seen inside.
marks() {
  build
  endpoint ours theirs 192.0.2.2:51820
  within $patience pings ours 10.9.0.2 || fail 'no answer'
  at ours nft -f - <<'NFT'
table inet marks {
  chain out {
    type route hook output priority mangle;
    oifname wg0 ip protocol icmp ip dscp set ef
    oifname wg0 ip protocol icmp ip ecn set ect0
    oifname wg0 meta l4proto ipv6-icmp icmpv6 type echo-request ip6 dscp set ef
    oifname wg0 meta l4proto ipv6-icmp icmpv6 type echo-request ip6 ecn set ect0
  }
}
NFT
  at theirs nft -f - <<'NFT'
table inet marks {
  counter outer { }
  counter inner { }
  counter shown { }
  chain in {
    type filter hook prerouting priority mangle;
    udp dport 51820 ip ecn ect0 ip dscp cs0 counter name outer ip ecn set ce
    udp dport 51820 ip dscp != cs0 ip dscp != af41 counter name shown
    iifname wg0 ip ecn ce ip dscp ef counter name inner
    iifname wg0 ip6 ecn ce ip6 dscp ef counter name inner
  }
}
NFT
  for address in 10.9.0.2 2001:db8:9::2; do
    at ours busybox ping -c 3 -i 0.2 -W "$patience" "$address" >/dev/null || fail "no answer from $address"
  done
  local name
  for name in outer inner; do (($(counted $name) >= 6)) || fail "$(counted $name) packets counted $name, of 6"; done
  (($(counted shown) == 0)) || fail 'the outer header tells the inner DSCP'
  for end in ours theirs; do at "$end" nft delete table inet marks; done
}

# What comes while the other end's process does not run waits for it: 1.7 MB, in runs as the network delivers them.
burst() {
  build
  endpoint ours theirs 192.0.2.2:51820
  within $patience pings ours 10.9.0.2 || fail 'no answer'
  at theirs nft -f - <<'NFT'
table inet burst {
  counter arrived { }
  chain in {
    type filter hook prerouting priority mangle;
    iifname wg0 udp dport 9 counter name arrived drop
  }
}
NFT
  local stopped
  stopped=$(engine_of theirs)
  kill -STOP "$stopped"
  # With pauses in which ours encrypts.
  # shellcheck disable=SC2016
  at ours bash -c 'printf -v data %01392d 0
    for ((i = 0; i < 1200; i++)); do
      printf %s "$data"
      ((i % 50)) || sleep 0.02
    done >/dev/udp/10.9.0.2/9' || fail 'cannot send'
  sleep 0.5
  kill -CONT "$stopped"
  # Some may be lost on purpose: so a sender learns that its packets wait.
  within $patience has_arrived $((1195 * 1392)) || fail "$(arrived) of $((1200 * 1392)) bytes arrived"
  at theirs nft delete table inet burst
}

# The bytes of those that arrived, and of the headers of each run.
arrived() { at theirs nft --json list counter inet burst arrived | grep -o '"bytes": *[0-9]*' | grep -o '[0-9]*$'; }

has_arrived() { (($(arrived) >= $1)); }

counted() { at theirs nft --json list counter inet marks "$1" | grep -o '"packets": *[0-9]*' | grep -o '[0-9]*$'; }

wg_shows() {
  build
  endpoint ours theirs 192.0.2.2:51820
  wg_at ours set wg0 fwmark 0x52 peer "${public[theirs]}" persistent-keepalive 25
  both_ways ours theirs 10.9.0.2
  local -a words
  read -ra words <<<"$(wg_at ours show wg0 dump | sed -n 1p)"
  [[ ${words[*]} == "${private[ours]} ${public[ours]} 51820 0x52" ]] || fail "wg shows: ${words[*]}"
  read -ra words <<<"$(wg_at ours show wg0 dump | sed -n 2p)"
  [[ ${words[0]} == "${public[theirs]}" && ${words[2]} == 192.0.2.2:51820 && ${words[3]} == 10.9.0.0/24,2001:db8:9::/64 ]] ||
    fail "wg shows: ${words[*]}"
  ((words[4] > 0 && words[5] > bytes && words[6] > bytes && words[7] == 25)) || fail "wg shows: ${words[*]}"
}

for case in "${@:2}"; do
  "$case"
  echo "$peer, $case: well, $SECONDS s"
done
