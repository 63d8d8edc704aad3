# Words for the scenes about programs that ask for names: the clients, and a gateway that answers when it is told to.
# shellcheck shell=bash disable=SC2034,SC2154

# The tunnel's own server gives every name the address of the intranet's page.
answers[gateway]=10.77.0.1

sources=$tests/clients
built=$scene/clients

# Compiles those of the named clients that are compiled.
build_clients() {
  local client
  mkdir -p "$built"
  for client in "$@"; do
    case $client in
    musl) musl-gcc -static -O2 -o "$built/musl" "$sources/lookup.c" ;;
    ares) cc -O2 -o "$built/ares" "$sources/ares.c" -lcares ;;
    go)
      HOME=$built GOCACHE=$built/cache GOPATH=$built/path GOFLAGS='' GO111MODULE=off GOPROXY=off GOTOOLCHAIN=local CGO_ENABLED=0 \
        command go build -o "$built/go" "$sources/lookup.go"
      ;;
    esac
  done
}

# One question of one datagram, as no resolver repeats it.
raw() { "$tests/question" "$(sed -n 's/^nameserver //p' "$laptop/resolv.conf" | head -n 1)" "$1"; }

# What a client says of a name: an address, a page, or its failure.
by() {
  case $1 in
  raw*) raw "$2" ;;
  glibc) "$lab" on laptop getent ahosts "$2" | awk 'NR == 1 { print $1 } END { if (NR == 0) print "not found" }' ;;
  curl) "$lab" on laptop curl --silent --show-error --max-time 20 "http://$2/" ;;
  once) "$lab" on laptop "$sources/browse" "$built/once-$2" once "http://$2/" ;;
  chromium) "$lab" on laptop "$sources/browse" "$built/chromium-$2" "${patience:-20}" "http://$2/" ;;
  *) "$lab" on laptop "$built/$1" "$2" ;;
  esac 2>&1 || true
}

# The same with the milliseconds that it took, or since the last `passes after`: `CLIENT STAGE MS WORDS`. With $TIMED, raw questions are
# timed by themselves, without the start of their program.
ask_by() {
  local client=$1 stage=$2 began=${counted:-${EPOCHREALTIME/./}} words
  words=$(by "$client" "$client-$stage.corp.example" | tr '\n' ' ')
  [[ $client == raw* && -n ${TIMED:-} ]] || words="$(((${EPOCHREALTIME/./} - began) / 1000)) $words"
  echo "$client $stage ${words% }"
}

# All of them at once.
ask_by_each() {
  local stage=$1 client asking=()
  for client in "${@:2}"; do
    ask_by "$client" "$stage" >"$scene/said-$client-$stage" &
    asking+=($!)
  done
  wait "${asking[@]}"
  for client in "${@:2}"; do cat "$scene/said-$client-$stage"; done
}

# Writes down how many milliseconds from now the tunnel is connected.
connected_after() {
  local began=${EPOCHREALTIME/./}
  tunnel_is corp connected 30s >/dev/null
  echo "$(((${EPOCHREALTIME/./} - began) / 1000))" >"$scene/connected-after"
}

# The tunnel's gateway answers by way of a line whose delay is set by `passes`.
gateway_answers_late() {
  sed -i 's|^Endpoint.*|Endpoint = 203.0.113.80:51820|' "$policies/corp.conf"
  passes never
  on internet perl "$sources/late" 203.0.113.80:51820 203.0.113.10:51820 "$scene/passes" &
  within 5 eval "on internet ss -Hlun 'sport = :51820' | grep -q ."
}

# `after 2`: from two seconds from now on. `held 2`: two seconds after the next datagram. `never`.
passes() {
  # An answer is early only by the same clock as the gateway's: a program that starts late waits less by itself.
  counted=
  [[ $1 != after ]] || counted=${EPOCHREALTIME/./}
  # Each content counts anew.
  echo "$* #$((++pass))" >"$scene/passes.new"
  mv "$scene/passes.new" "$scene/passes"
}
pass=0
counted=

# Whether programs ask our own name server.
led() { grep -q 'nameserver 127.82.0.53' "$laptop/resolv.conf"; }

# Down, as it was before a look-up: TUNNEL, and the state that it has then. While it is down by hand, programs ask the network for its names
# as for all others.
let_down() {
  local tunnel=${1:-corp}
  roamward down "$tunnel" --wait 20 >/dev/null
  within 5 not led
  roamward resume "$tunnel" >/dev/null
  within 5 led
  tunnel_is "$tunnel" "${2:-disconnected}"
}
