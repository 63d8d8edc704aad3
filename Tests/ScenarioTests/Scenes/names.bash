# Words for the scenes about names: servers that write down what they are asked, and a program that asks all the while.
# shellcheck shell=bash disable=SC2154

declare -A answers=([home]=192.0.2.77 [cafe]=198.51.100.77 [mobile]=203.0.113.207 [gateway]=10.77.0.77)
declare -A server=([home]=192.0.2.1 [cafe]=198.51.100.1 [mobile]=203.0.113.129 [gateway]=10.77.0.1)

# Takes the place of every name server of the lab: each answers every name with an address of its own, to be kept for five minutes; none
# has names in com, except where $1 names the place: there they get the same address.
# Those of places serve their own network alone, as such servers do: a question that comes through the tunnel, to an address from the
# last resolv.conf, is not taken.
witness_names() {
  local place process
  for place in "${!answers[@]}"; do
    for process in $(on "$place" ss -Hlunp 'sport = :53' | grep -o 'pid=[0-9]*' | sort -u); do kill "${process#pid=}"; done
    within 5 eval "! on $place ss -Hltun 'sport = :53' | grep -q ."
    on "$place" dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --listen-address="${server[$place]}" --pid-file= \
      --log-queries --log-facility="$scene/names-$place" --local-ttl=300 "--address=/#/${answers[$place]}" --local=/#/ \
      "--address=/com/$([[ $place != "${1:-}" ]] || echo "${answers[$place]}")" \
      "--address=/${unknown:-unknown.invalid}/$([[ $place != gateway ]] || echo "${answers[$place]}")"
    within 5 test -e "$scene/names-$place"
    [[ $place == gateway ]] || on "$place" nft 'table inet own { chain in { type filter hook input priority 0; ip saddr 10.77.0.2 udp dport 53 drop; }; }'
  done
}

# In which stage names are asked from now on; its name is in theirs.
stage() { echo "$1" >"$scene/stage.new" && mv "$scene/stage.new" "$scene/stage"; }

# STAGE [KIND ...]
start_asking() {
  stage "$1"
  rm -f "$scene/lookups.open"
  perl "$tests/asker" "$laptop/resolv.conf" 200 "$scene/stage" "$scene/lookups" "${@:2}" &
  asker=$!
  within 5 test -e "$scene/lookups.open"
}

stop_asking() {
  kill -TERM "$asker"
  wait "$asker"
}

# Those of earlier stages have their answers, and none will be asked any more.
all_answered() { [[ $(<"$scene/lookups.open") == "$(<"$scene/stage") 0" ]]; }

# From now on nobody can answer, by the plan; until `answerable`.
unanswerable() { echo -n "$EPOCHREALTIME " >>"$scene/outages"; }
answerable() { echo "$EPOCHREALTIME" >>"$scene/outages"; }

# How many look-ups of this stage there were, all kinds together, and at which servers their names were seen:
# `asked=612 home=0 cafe=408 mobile=0 gateway=0`. The name that is asked in every stage is seen by who answered it.
seen_of() {
  local place
  echo -n "asked=$(grep -c "^$1 " "$scene/lookups")"
  for place in home cafe mobile gateway; do echo -n " $place=$(seen_at "$place" "$1")"; done
  echo
}
seen_at() {
  echo "$(($(grep -c "query\[A\] $2-" "$scene/names-$1") + $(grep -c "^$2 intranet.* ${answers[$1]}$" "$scene/lookups")))"
}

# Of all look-ups: their number, those without an answer, the longest wait in ms. What nobody could answer is
# waited for from when somebody could.
waits() {
  awk -v outages="$scene/outages" 'FILENAME == outages { from[NR] = $1; to[NR] = $2; n = NR; next }
    $4 == "-" { unanswered++; next }
    { begun = $3; for (i = 1; i <= n; i++) if (begun < to[i] && $4 > from[i]) begun = to[i]
      wait = $4 - begun; if (wait > longest) { longest = wait; of = $1 } }
    END { printf "lookups=%d unanswered=%d longest=%d ms (%s)\n", FNR, unanswered, longest * 1000, of }' "$scene/outages" "$scene/lookups"
}
