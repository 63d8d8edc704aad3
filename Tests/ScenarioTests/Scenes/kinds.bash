# Words for scenes with five tunnels of five kinds at once: corp (WireGuard), plain (Python), best and simple (the examples in Swift), and
# office (Nebula). Needs providers.bash and nebula.bash.
# shellcheck shell=bash disable=SC2154

# Installs an example provider in Swift: bestvpn, simpletunnel.
install_example() {
  local provider=$scene/providers
  install -m 0755 "$bin/$1-provider" "$provider/$1"
  sed -e "s|^program: .*|program: $provider/$1|" -e 's|^user: .*|user: nobody|' \
    "$tests/../../../examples/providers/$1/provider.yaml" >"$provider/$1.yaml"
  chmod 0644 "$provider/$1.yaml"
}

# Starts the server of an example on the gateway, at a port; the words are its arguments.
example_server() {
  local name=$1 port=$2
  shift 2
  on gateway env scene="$scene" python3 "$tests/../../../examples/providers/$name/server.py" "$@" </dev/null >"$scene/$name.log" 2>&1 &
  within 5 eval 'on gateway ss -Hlntu "sport = :'"$port"'" | grep -q .'
}

# Starts the server of SimpleTunnel on the gateway, as an ordinary user; its device belongs to that user. The file is its configuration.
simpletunnel_server() {
  on gateway ip tuntap add dev simple0 mode tun user nobody
  on gateway ip address add 10.92.0.1/24 dev simple0
  on gateway ip link set simple0 up
  simpletunnel_runs "$1"
}
simpletunnel_runs() {
  # Its names are those of the gateway's own server.
  echo 'nameserver 10.77.0.1' >"$scene/resolv.gateway"
  install -m 0755 "$bin/simpletunnel-server" "$scene/simpletunnel-server"
  on gateway unshare --mount bash -c 'mount --bind "$1" /etc/resolv.conf; exec setpriv --reuid nobody --regid nogroup --clear-groups "${@:2}"' \
    with "$scene/resolv.gateway" "$scene/simpletunnel-server" 9997 "$1" --device simple0 >"$scene/simpletunnel.log" 2>&1 &
  within 5 grep -q listening "$scene/simpletunnel.log"
}

# The configuration of the sample, with a pool of nine.
simpletunnel_configuration() {
  cat <<'END'
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>IPv4</key>
  <dict>
    <key>Pool</key>
    <dict><key>StartAddress</key><string>10.92.0.2</string><key>EndAddress</key><string>10.92.0.10</string></dict>
    <key>Routes</key>
    <array><dict><key>Address</key><string>10.92.0.0</string><key>Netmask</key><string>255.255.255.0</string></dict></array>
  </dict>
  <key>DNS</key>
  <dict><key>SearchDomains</key><array><string>simple.example</string></array></dict>
</dict>
</plist>
END
}

# The policies and servers of all five. Each tunnel is wanted wherever there is a network.
five_kinds() {
  local key=0123456789abcdef0123456789abcdef
  install_plain
  install_provider nebula
  install_example bestvpn
  install_example simpletunnel
  start_server
  nebula_server
  example_server bestvpn 9998 best0 10.91.0.1/24 9998 alice s3cret "$(printf %s "$key" | od -An -v -tx1 | tr -d ' \n')"
  simpletunnel_configuration >"$scene/simpletunnel.plist"
  simpletunnel_server "$scene/simpletunnel.plist"
  (umask 077 && printf %s "$key" >"$policies/best.key" && printf %s s3cret >"$policies/best.password")
  plain_policy <<<'    on-demand: { rules: [{ action: connect }] }'
  nebula_policy laptop <<<'    on-demand: { rules: [{ action: connect }] }'
  cat >"$policies/examples.yaml" <<END
version: 1
tunnels:
  best:
    provider:
      installed:
        name: $scene/providers/bestvpn.yaml
        options: { server: "203.0.113.10:9998", login: alice, address: 10.91.0.2/24, routes: [10.91.0.0/24] }
        credentials: { key: best.key, password: best.password }
        insecure: accept
    on-demand: { rules: [{ action: connect }] }
  simple:
    provider:
      installed:
        name: $scene/providers/simpletunnel.yaml
        options: { server: "203.0.113.10:9997" }
        insecure: accept
    on-demand: { rules: [{ action: connect }] }
END
  sed -i '/- {/d; s/rules:$/rules: [{ action: connect }]/' "$policies/corp.yaml"
  roamward check "$policies"
}

declare -A inside=([corp]=10.77.0.1 [plain]=10.98.0.1 [best]=10.91.0.1 [simple]=10.92.0.1 [office]=10.96.0.1)

# Pings through each tunnel, one a second, as a person's programs send all the time. `${flows[@]}`: their processes.
send_always() {
  local name
  for name in "${!inside[@]}"; do
    while :; do
      busybox ping -c 1 -W 1 "${inside[$name]}" >/dev/null 2>&1 || true
      sleep 1 # no event: the interval of the packets
    done &
    flows+=($!)
  done
}
flows=()

answers_inside() { busybox ping -c 1 -W 1 "${inside[$1]}" >/dev/null; }

# Waits until each tunnel answers, at most so many seconds after a move; says which did not, and in kinds.log how long each took.
all_answer() {
  local name moved=${EPOCHREALTIME/./} waits=() wait
  for name in "${!inside[@]}"; do
    (
      within "$2" answers_inside "$name" || exit 1
      echo "$1: $name after $(((${EPOCHREALTIME/./} - moved) / 1000)) ms" >>"$scene/kinds.log"
    ) &
    waits+=($!)
  done
  for wait in "${waits[@]}"; do wait "$wait" || return 1; done
  for name in "${!inside[@]}"; do within "$2" field_is "$name" state connected; done
}
