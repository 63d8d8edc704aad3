# Words for scenes with two gateways that have keys of their own, `paris` and `lyon`, and one store of PostgreSQL.
# shellcheck shell=bash disable=SC2154

# Each is behind a line of the internet, whose delay a scene may change. The inner host 10.96.0.1 is behind both.
declare -A site_node=([paris]=gateway [lyon]=lyon) site_line=([paris]=203.0.113.80:51821 [lyon]=203.0.113.80:51822)
declare -A site_host=([paris]=203.0.113.10:51821 [lyon]=203.0.113.20:51822)

at_site() { nsenter --net="/run/netns/${site_node[$1]}" -- "${@:2}"; }
site() { at_site "$1" "$bin/roamward-gateway" "${@:2}" --state "$scene/$1"; }
delay() { echo "$2" >"$scene/$1.delay"; }

# A server of PostgreSQL on a unix socket, without privileges. It ends with the scene.
database() {
  local programs as=(setpriv --reuid=postgres --regid=postgres --clear-groups env -i LC_ALL=C)
  programs=$(dirname "$(find /usr/lib/postgresql -path '*/bin/postgres' | sort -V | tail -n 1)")
  mkdir "$scene/database"
  chown postgres "$scene/database"
  chmod 0755 "$scene/database"
  (cd / && "${as[@]}" "$programs/initdb" --auth=trust --username=gateway --encoding=UTF8 --no-sync --pgdata="$scene/database/data" >/dev/null)
  "${as[@]}" "$programs/postgres" -D "$scene/database/data" -k "$scene/database" -c listen_addresses= -c fsync=off -c autovacuum=off \
    </dev/null >"$scene/database.log" 2>&1 &
  within 5 "${as[@]}" "$programs/createdb" --host="$scene/database" --username=gateway gateway
  store="host=$scene/database user=gateway dbname=gateway"
}

lyon_network() {
  ip netns add lyon
  ip -n lyon link add wan0 type veth peer name lyon netns internet
  ip -n internet link set lyon master br0 up
  ip -n lyon link set lo up
  ip -n lyon link set wan0 up
  ip -n lyon address add 203.0.113.20/25 dev wan0
  ip -n lyon route add default via 203.0.113.53
}

serve_site() {
  (at_site "$1" "$bin/roamward-gateway" serve --state "$scene/$1" </dev/null >>"$scene/$1.log" 2>&1 &)
  within 20 eval "[[ -n \$(at_site $1 ss -Hlun 'sport = :${site_line[$1]#*:}') ]]"
}

# Kills a gateway and its engine: nothing answers there any more.
kill_site() {
  pkill -KILL -f "roamward-gateway serve --state $scene/$1"
  at_site "$1" pkill -KILL -f "roamward-wireguard.* wg-$1" || true
  ip -n "${site_node[$1]}" link delete "wg-$1" 2>/dev/null || true
}

two_sites() {
  database
  lyon_network
  local name
  for name in paris lyon; do
    at_site "$name" ip address add 10.96.0.1/32 dev lo
    delay "$name" 0
    (on internet perl "$tests/delay-line" "${site_line[$name]}" "${site_host[$name]}" "$scene/$name.delay" </dev/null >/dev/null 2>&1 &)
  done
  (
    site paris init --endpoint "${site_line[paris]}" --link wg-paris --site paris --store "$store" --pool 10.95.0.0/24
    site lyon init --endpoint "${site_line[lyon]}" --link wg-lyon --site lyon --store "$store" --pool 10.95.1.0/24
    site paris user add alice
    site paris user set alice --password <<<'correct horse'
    site paris set settings.everybody.routes 10.96.0.0/24
    site paris access add all --from everybody --to 10.96.0.0/24
    site paris set logins on
    site lyon set logins on
  ) >"$scene/sites.setup" 2>&1 || { cat "$scene/sites.setup"; return 1; }
  # shellcheck disable=SC2034 # of the policy
  pin=$(site paris login show | grep -o 'sha256//[A-Za-z0-9+/=]*')
  serve_site paris
  serve_site lyon
  within 20 eval "[[ -n \$(at_site paris ss -Hltn 'sport = :51821') ]]"
}

# Which gateway the tunnel uses.
uses() { [[ $(roamward message office status | jq -r .gateway) == "$1" ]]; }
reaches_inner() { busybox ping -c 1 -W 1 10.96.0.1 >/dev/null; }

# Counts what passes the café's router, without what goes to the gateways: `clear` reads it.
watch_others_of_sites() {
  on cafe nft 'table inet watch { chain c { type filter hook prerouting priority -300;
    iifname "lan0" ip daddr 203.0.113.80 udp dport { 51821, 51822 } accept;
    iifname "lan0" ip daddr 203.0.113.10 tcp dport 51821 accept;
    iifname "lan0" meta l4proto { tcp, udp, icmp } counter; }; }'
}
