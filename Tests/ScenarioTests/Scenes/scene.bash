# Words for the scenes: read by bash before each of their scripts, as the laptop of examples/walk/lab.
#
# $scene is the scene's own folder: policies/ and local/ (the layers), state/, agent.log, agent.socket.
# shellcheck shell=bash disable=SC2154
set -euo pipefail

# Of the test: the folder, the programs, the lab, this folder.
scene=${scene:?} bin=${bin:?} lab=${lab:?} tests=${tests:?}
laptop=$ROAMWARD_LAB/laptop
policies=$scene/policies
inputs=(--ssid-file "$laptop/ssid" --resolv-conf "$laptop/resolv.conf")
export ROAMWARD_SOCKET=$scene/agent.socket NO_COLOR=1

go() { "$lab" connect "$1"; }

# Runs a command on home, cafe, mobile, internet or gateway.
on() { "$lab" on "$@"; }

# Repeats a command until it succeeds. The seconds are the promise for a quiet machine. The wait is generous: ten times as long and half a
# minute more, so that a busy machine fails no test. How long it took is kept in $promises, where that names a file; with $strict a broken
# promise fails. After a failure it prints what the command printed last.
#
# It pauses for an eighth of the time that has passed, 20 to 400 ms: a look costs more than what it looks at, and others compute meanwhile.
within() {
  local promised=$1 began=${EPOCHREALTIME/./} now output pause
  shift
  until output=$("$@" 2>&1); do
    now=${EPOCHREALTIME/./}
    if ((now > began + promised * 10000000 + 30000000)); then
      echo "not in time: $*"
      echo "$output"
      return 1
    fi
    pause=$(((now - began) / 8000))
    printf -v pause '0.%03d' "$((pause < 20 ? 20 : pause > 400 ? 400 : pause))"
    sleep "$pause" # no event: between two looks
  done
  now=${EPOCHREALTIME/./}
  [[ -z ${promises:-} ]] || printf '%d\t%d\t%s\t%s\n' "$promised" "$(((now - began) / 1000))" "${test_name:-}" "${*//$'\n'/ }" >>"$promises"
  if [[ -n ${strict:-} ]] && ((now - began > promised * 1000000)); then
    echo "promised within $promised s, took $(((now - began) / 1000)) ms: $*"
    return 1
  fi
}

not() { ! "$@"; }

say() { echo "[$1]"; }

# As `grep -q`, but it reads to the end: a program that still writes would end by SIGPIPE, which fails the pipe. So would `head`.
found() { grep -c "$@" >/dev/null; }

# --- the agent ---------------------------------------------------------------------------------------------------

# Starts it, with options; its end is written to agent.exit.
start_agent() {
  rm -f "$scene/agent.exit"
  {
    status=0
    # shellcheck disable=SC2016 # expanded over there
    bash -c 'echo $BASHPID >"$0/agent.pid"; exec "${@:1}"' "$scene" "$bin/roamwardd" --policies "$policies" --policies "$scene/local" \
      --state-dir "$scene/state" --socket "$ROAMWARD_SOCKET" "${inputs[@]}" --settle "${SETTLE:-100ms}" --log-level debug "$@" || status=$?
    echo "$status" >"$scene/agent.exit"
  } </dev/null >/dev/null 2>>"$scene/agent.log" &
  within 5 roamward status
}

agent_pid() { cat "$scene/agent.pid"; }

# Whether a process runs. One that has ended may still wait for its parent, and `kill -0` finds it.
runs() { [[ $(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) == [^ZX] ]]; }

stop_agent() {
  kill -TERM "$(agent_pid)"
  within 10 test -s "$scene/agent.exit"
  cat "$scene/agent.exit"
}

kill_agent() {
  kill -KILL "$(agent_pid)"
  within 5 test -s "$scene/agent.exit"
}

cleanup_agent() {
  "$bin/roamwardd" --cleanup --policies "$policies" --policies "$scene/local" --state-dir "$scene/state" --socket "$ROAMWARD_SOCKET" \
    "${inputs[@]}" 2>>"$scene/agent.log"
}

roamward() { "$bin/roamward" "$@"; }

# evaluate and plan with the scene's policies and facts, network with its facts.
dry() {
  local layers=(--policies "$policies" --policies "$scene/local")
  [[ $1 != network ]] || layers=()
  roamward "$1" "${layers[@]}" "${inputs[@]}" --state-dir "$scene/state" "${@:2}"
}

tunnel_is() { roamward wait "$1" --for "$2" --timeout "${3:-60s}"; }

# A field of a tunnel's status.
field() { roamward status --json | jq -r --arg tunnel "$1" ".tunnels[] | select(.name == \$tunnel) | .$2"; }

field_is() { [[ $(field "$1" "$2") == "$3" ]]; }

count_in_log() { grep -c -- "$1" "$scene/agent.log" || true; }

# --- looking -----------------------------------------------------------------------------------------------------

state() { "$lab" state; }

# Addresses that the kernel still checks for duplicates change by themselves. So does a link whose carrier the kernel has not told of yet:
# it has neither or both of NO-CARRIER and LOWER_UP, and its own IPv6 address and routes come with that word.
is_still() {
  [[ -z $(ip -6 address show tentative) ]] &&
    ip -j link | jq -e 'all(.[].flags | select(index("UP")); (index("NO-CARRIER") == null) != (index("LOWER_UP") == null))' >/dev/null
}
remember() {
  for _ in {1..400}; do
    ! is_still || break
    sleep 0.05 # no event: between two looks
  done
  state >"$scene/before"
}

as_before() {
  state >"$scene/after"
  diff "$scene/before" "$scene/after"
}

fetch() { "$lab" on laptop curl --silent --show-error --fail --max-time 5 "$@"; }

# The address from which a web server sees the laptop.
seen_by() { fetch "http://$1/cgi-bin/whoami"; }
seen_as() { [[ $(seen_by "$2") == "$1" ]]; }

intranet_loads() { fetch http://10.77.0.1/ | grep -q intranet; }

# Counts, on the café's router, what comes from the laptop and is not the tunnel's own; `clear` tells how many packets.
watch_cafe() {
  on cafe nft 'table inet watch { chain c { type filter hook prerouting priority -300; iifname "lan0" meta l4proto { tcp, icmp } counter; }; }'
}
clear() { on cafe nft list table inet watch | grep -o 'packets [0-9]*' | cut -d ' ' -f 2; }

# Speaks to where the watch sees it, once or all the time.
try_web() { "$lab" on laptop curl --silent --max-time 1 http://203.0.113.80/ >/dev/null 2>&1 || true; }
# Whether the watch sees that. A link that is just up may have dropped the first packets, such as the answer for a router's address.
watch_sees() { try_web && (($(clear) > 0)); }
babble() {
  while :; do
    "$lab" on laptop curl --silent --max-time 0.3 http://203.0.113.80/ >/dev/null 2>&1 || true
    printf . >>"$scene/babbled"
  done
}
# Waits until it has spoken so often again: then what got out has been counted.
babbles() {
  touch "$scene/babbled"
  within 2 has_babbled $(($(wc -c <"$scene/babbled") + $1 + 1))
}
has_babbled() { (($(wc -c <"$scene/babbled") >= $1)); }
# Nothing that was sent before is on its way any more, while what speaks is held back.
watch_rests() {
  local was
  was=$(clear)
  sleep 0.2 # no event: what is on its way cannot be seen
  [[ $(clear) == "$was" ]]
}

# Whether each link with an address that the agent sees has the addresses, the MTU and the gateways that the kernel has
# for it, and no link is missing.
network_is_right() {
  diff <(kernel_network) <(
    roamward network --json | jq -S '.links
      | map_values({addresses: (.addresses // [] | sort), gateways: (.gateways // [] | sort), mtu} | select(.addresses != []))'
  )
}

# The same, as ip(8) tells it.
kernel_network() {
  jq -S --null-input --argjson links "$(ip -j -details link)" --argjson addresses "$(ip -j address)" \
    --argjson routes "$(ip -j -4 route show default)" --argjson routes6 "$(ip -j -6 route show default)" '
    [$links[] | select(.ifname != "lo" and ((.ifalias // "") | startswith("roamward:") | not)) | . as $link
      | {key: .ifname, value: {
          addresses: [$addresses[] | select(.ifname == $link.ifname) | .addr_info[] | "\(.local)/\(.prefixlen)"] | sort,
          gateways: [($routes + $routes6)[] | select(.dev == $link.ifname) | .gateway // empty] | sort, mtu: .mtu}}]
    | from_entries | map_values(select(.addresses != []))'
}

way_to() { ip route get "$1" 2>&1 | grep -o 'dev [^ ]*' || echo none; }

way_is() { [[ $(way_to "$1") == "${2:+dev }$2" ]]; }

gateway_sees() { [[ $(on gateway wg show gw0 endpoints) == *"$1":* ]]; }


link_index() { ip -j link show "$1" | jq '.[0].ifindex'; }

# Whether the agent has taken in what has happened so far, and no network settles: a status observes the machine itself, and has the timers
# that are left.
is_at_rest() { roamward status --json | jq -e 'all(.tunnels[].timers[].timer; IN("settle", "decide") | not)' >/dev/null; }
at_rest() { within 5 is_at_rest; }

# The process that runs a userspace tunnel; nothing where the kernel does.
engine_pid() {
  local process
  for process in /proc/[0-9]*; do
    [[ $(tr '\0' ' ' 2>/dev/null <"$process/cmdline") != *"roamward-wireguard --at-work $1 "* ]] || echo "${process#/proc/}"
  done
}

# --- changing the lab --------------------------------------------------------------------------------------------

# The tunnel carries whatever is led into it.
take_everything() { sed -i 's|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0, ::/0|' "$policies/corp.conf"; }

# Another WireGuard server on the gateway: link, its address, UDP port, what the laptop may send from. Prints the laptop's configuration.
second_gateway() {
  local link=$1 address=$2 port=$3 client=$4
  (
    umask 077
    wg genkey >"$scene/$link.key"
    wg genkey >"$scene/$link.client"
  )
  if ! ip -n gateway link add "$link" type wireguard 2>/dev/null; then
    # shellcheck disable=SC2154
    on gateway "$bin/roamward-wireguard" "$link" </dev/null >/dev/null 2>&1 &
    within 10 test -S "/var/run/wireguard/$link.sock"
  fi
  on gateway wg set "$link" private-key "$scene/$link.key" listen-port "$port" \
    peer "$(wg pubkey <"$scene/$link.client")" allowed-ips "$client"
  ip -n gateway address add "$address" dev "$link"
  ip -n gateway link set "$link" up
  printf '[Interface]\nPrivateKey = %s\nAddress = %s\n[Peer]\nPublicKey = %s\nEndpoint = 203.0.113.10:%s\nAllowedIPs = 0.0.0.0/0\nPersistentKeepalive = 25\n' \
    "$(<"$scene/$link.client")" "$client" "$(wg pubkey <"$scene/$link.key")" "$port"
}

# Takes the place of a place's DNS server with one that gives vpn.corp.example this address.
answer_endpoint_with() {
  local place=$1 address=$2 server
  server=$(on "$place" ss -Hlunp 'sport = :53' | grep -o 'pid=[0-9]*' | head -n 1)
  kill "${server#pid=}"
  within 2 not kill -0 "${server#pid=}"
  on "$place" dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --interface=lan0 --pid-file= \
    --host-record="vpn.corp.example,$address" --address=/#/ --log-queries --log-facility="$scene/dns-$place.log"
}

# --- storms ------------------------------------------------------------------------------------------------------

counter() { roamward status --json | jq ".counters.$1"; }

# Kilobytes of memory, and hundredths of a second of processor time, that the agent has.
resident() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$(agent_pid)/status"; }
ticks() { awk '{ print $14 + $15 }' "/proc/$(agent_pid)/stat"; }

# How often the agent has gone to sleep, and so been woken.
sleeps() { awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$(agent_pid)/status"; }

# Runs a command, waits until the agent has taken it in, half a minute at most, and says what that took: evaluations, overflows, KiB grown,
# processor time in ms, and processor time in ms of the last second.
storm() {
  local was=("$(counter evaluations)" "$(counter overflows)" "$(resident)" "$(ticks)") is quiet last
  "$@"
  sleep 2 # no event: work that the agent has not begun yet
  for _ in {1..30}; do
    quiet=$(ticks)
    sleep 1 # no event: the processor time of a second
    # Before the agent is asked again, which takes time of its own.
    last=$(ticks)
    ((last - quiet > 2)) || break
  done
  is=("$(counter evaluations)" "$(counter overflows)" "$(resident)" "$quiet")
  quiet=$((last - quiet))
  say "$((is[0] - was[0])) $((is[1] - was[1])) $((is[2] - was[2])) $((10 * (is[3] - was[3]))) $((10 * quiet))"
}
