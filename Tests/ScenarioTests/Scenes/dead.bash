# Words for scenes in which a gateway stops answering while packets are sent into the tunnel.
# shellcheck shell=bash disable=SC2154

# Tenths of a second since the gateway's death.
since_death() { echo $(((${EPOCHREALTIME/./} - death) / 100000)); }

# Drops what comes to the gateway and matches one of these rules; with `$both_ways`, also what it sends from these ports.
gateway_dies() {
  local rule in='' out=''
  for rule; do
    in+="$rule drop; "
    out+="${rule//dport/sport} drop; "
  done
  on gateway nft "table inet dead {
    chain input { type filter hook input priority -300; $in }
    chain output { type filter hook output priority -300; ${both_ways:+$out} }
  }"
  death=${EPOCHREALTIME/./}
}

gateway_lives() { on gateway nft delete table inet dead; }

# A ping a second to this address; `$pings` is its process.
ping_always() {
  while :; do
    busybox ping -c 1 -W 1 "$1" >/dev/null 2>&1 || true
    sleep 1 # no event: the interval of the packets
  done &
  pings=$!
}

is_doubted() { [[ $(field "$1" state) != connected ]]; }
has_given_up() { [[ $(field "$1" failure) != null ]]; }

# The whole event for a tunnel that is connected: pings to an address inside, and rules of the ports that fall silent. Doubt is promised
# within 25 s of the first unanswered packet, and failure within 60 s; the times are in dead.log.
dies_and_returns() {
  local tunnel=$1 inside=$2 doubted failed
  ping_always "$inside"
  shift 2
  gateway_dies "$@"
  within 25 is_doubted "$tunnel"
  doubted=$(since_death)
  say "$(field "$tunnel" state)"
  # What is being tried is told meanwhile, and nothing is said to answer.
  echo "$(field "$tunnel" reason), $(field "$tunnel" transport)" >>"$scene/dead.log"
  [[ $(field "$tunnel" transport) != *'which answers'* ]] || say "said to answer"
  within 35 has_given_up "$tunnel"
  failed=$(since_death)
  field "$tunnel" failure >>"$scene/dead.log"
  echo "doubted after $doubted, failed after $failed tenths of a second" >>"$scene/dead.log"
  gateway_lives
  within 60 field_is "$tunnel" state connected
  within 5 busybox ping -c 1 -W 1 "$inside" >/dev/null
  say "back, failure $(field "$tunnel" failure)"
  kill "$pings"
}
