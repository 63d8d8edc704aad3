# shellcheck shell=bash disable=SC2154,SC2034

witness_names "$@"
file=$laptop/resolv.conf
# As programs ask: an address, or the code of the failure.
answer() {
  local server said
  server=$(sed -n 's/^nameserver //p' "$file" | head -n 1)
  said=$(busybox nslookup -type=a "$1" "$server" 2>&1) || true
  grep -oP '^Address: \K[0-9.]+$|SERVFAIL|NXDOMAIN|REFUSED|timed out' <<<"$said" | tail -n 1
}
# shellcheck disable=SC2002 # 0 without the file
asked_at() { local place=$1; shift; cat "$scene/names-$place" | grep -c "query.*$1" || true; }
led() { grep -q 'nameserver 127.82.0.53' "$file"; }
# The link of a tunnel that is down: up, without addresses but the kernel's own, and without a route.
ready() { ip -oneline link show "$1" | grep -q '[<,]UP[,>]' && no_way_into "$1"; }
no_way_into() {
  ! ip -oneline address show "$1" | grep -v ' fe80:' | grep -q . || return
  ! { ip -4 route show table all; ip -6 route show table all; } | grep -w "dev $1" | grep -vE '^(multicast |local |anycast )?(fe80:|ff00:)' | grep -q .
}
