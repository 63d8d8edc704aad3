# Words for scenes with the provider of our own gateway: roamward-gateway on the gateway, at a port of its own.
# shellcheck shell=bash disable=SC2154

company() { on gateway "$bin/roamward-gateway" "$@" --state "$scene/company"; }
takes_relays() { [[ -n $(on gateway ss -Hltn 'sport = :443') ]]; }
takes_logins() { [[ -n $(on gateway ss -Hltn 'sport = :51821') ]]; }
serves() { company status >/dev/null 2>&1 && takes_logins; }

# Starts the gateway at 203.0.113.10, or at this name of it, which pushes routes and a name server. alice has the password `correct horse`.
# $pin is its key.
company_gateway() {
  if [[ ! -e $scene/company ]]; then
    (
      company init --endpoint "${1:-203.0.113.10}:51821" --pool 10.95.0.0/24 --pool fd95::/64
      company user add alice
      company user set alice --password <<<'correct horse'
      company set settings.everybody '{ routes: 10.95.0.0/24, dns: 10.95.0.1, search: corp.example, mtu: 1380 }'
      company access add all --from everybody --to 10.95.0.0/24
      company set logins on
    ) >"$scene/company.setup" 2>&1
  fi
  pin=$(company login show | grep -o 'sha256//[A-Za-z0-9+/=]*')
  (on gateway "$bin/roamward-gateway" serve --state "$scene/company" </dev/null >>"$scene/company.log" 2>&1 &)
  within 20 takes_logins
}

# Drops UDP between the café and the gateway, or lets it pass again.
block_udp() { on cafe nft 'table inet block { chain c { type filter hook forward priority 0; meta l4proto udp th dport 51821 drop; }; }'; }
pass_udp() { on cafe nft delete table inet block; }

# How the packets of the tunnel go: udp or tcp.
transport() { roamward message office status | jq -r .transport; }
goes_by() { [[ $(transport) == "$1" ]]; }

# Whether a port of the gateway takes connections, inside the tunnel.
# shellcheck disable=SC2016 # expanded there
reaches_inside() { timeout 2 bash -c 'echo 2>/dev/null >"/dev/tcp/10.95.0.1/$0"' "$1"; }

# Serves one file of 8 MB, and a line each 50 ms on one connection, inside the tunnel.
serve_inside() {
  head -c 8000000 /dev/urandom >"$scene/file"
  on gateway busybox nc -ll -p 8080 -e cat "$scene/file" & servers+=($!)
  on gateway busybox nc -ll -p 8081 -e sh -c 'while echo line; do sleep 0.05; done' & servers+=($!)
}
servers=()

kill_company() {
  pkill -KILL -f "roamward-gateway serve --state $scene/company"
  within 10 not takes_logins
}

# Writes the policy of a tunnel `office` by that provider: options, credentials; further lines of the tunnel come from standard input.
client_policy() {
  {
    cat <<END
version: 1
tunnels:
  office:
    provider:
      installed:
        name: $scene/providers/roamward.yaml
        options: { server: "203.0.113.10:51821", pin: "$pin", device: laptop$1 }
END
    [[ -z ${2:-} ]] || echo "        credentials: { $2 }"
    cat
  } >"$policies/office.yaml"
  roamward check "$policies" >/dev/null
}

# Writes the first or the second policy of docs/how-to/gateway-client.md, with this scene's provider, gateway and pin.
how_to_policy() {
  awk -v wanted="$1" '/^    version: 1$/ { count++; inside = 1 } /^[^ ]/ { inside = 0 } inside && count == wanted { print substr($0, 5) }' \
    "$tests/../../../docs/how-to/gateway-client.md" |
    sed -e "s|name: roamward|name: $scene/providers/roamward.yaml|" -e 's|vpn.example.com:51820|vpn.corp.example:51821|' \
      -e "s#\"PIN\"#\"$pin\"#" -e "s#\"sha256//[^\"]*\"#\"$pin\"#" >"$policies/corp.yaml"
  roamward check "$policies" >/dev/null 2>&1
}

# Writes a credential of a policy.
secret() { (umask 077 && printf '%s\n' "$2" >"$policies/$1"); }

# Whether the gateway's link has a peer with this address.
is_peer() { [[ $(on gateway wg show all allowed-ips) == *"$1/32"* ]]; }

# Logins and refused logins in the gateway's audit log: each one cost a hash or a token.
logins() { company audit | grep -cE ' login [a-z]' || true; }

# The gateway's end answers once the tunnel carries packets.
# Not for a moment after a roam that it notices later than the kernel: what it said when it was connected is in provider.status.
provider_is_connected() {
  roamward message office status >"$scene/provider.status"
  [[ $(jq .connected "$scene/provider.status") == true ]]
}
office_answers() { busybox ping -c 1 -W 1 10.95.0.1 >/dev/null; }

# Counts what passes the café's router, but for what goes to the gateway's port: `clear` reads it.
watch_others() {
  on cafe nft 'table inet watch { chain c { type filter hook prerouting priority -300;
    iifname "lan0" ip daddr 203.0.113.10 meta l4proto { tcp, udp } th dport 51821 accept;
    iifname "lan0" meta l4proto { tcp, udp, icmp } counter; }; }'
}

# Puts the manifest where packages have it, and has programs ask the network's name servers. After as-installed.bash.
as_packaged() {
  mkdir -p /etc/roamward/providers
  install -m 0644 "$scene/providers/roamward.yaml" /etc/roamward/providers/
  rm -f /etc/resolv.conf
  # shellcheck disable=SC2154
  cp "$laptop/resolv.conf" /etc/resolv.conf
}
