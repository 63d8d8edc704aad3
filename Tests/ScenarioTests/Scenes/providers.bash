# Words for scenes with installed providers: examples/providers/plain-udp, and its other end on the gateway.
# shellcheck shell=bash disable=SC2154

# Installs the provider of examples/providers in the scene, to run as a user without privileges, and starts its server.
# The word is a part of its program's name: plain-udp.py.
install_plain() {
  local root=$tests/../../.. provider=$scene/providers
  mkdir -p "$provider"
  chmod 0755 "$provider"
  install -m 0755 "$root/examples/providers/plain-udp/plain-udp.py" "$provider/plain-udp"
  sed -e "s|^program: .*|program: $provider/plain-udp|" -e 's|^user: .*|user: nobody|' \
    "$root/examples/providers/plain-udp/provider.yaml" >"$provider/plain-udp.yaml"
  chmod 0644 "$provider/plain-udp.yaml"
}

start_server() {
  on gateway env scene="$scene" "$tests/plain-server" "${1:-plain0}" "${2:-10.98.0.1/24}" "${3:-9999}" </dev/null >"$scene/plain-server.log" 2>&1 &
  within 5 eval 'on gateway ss -Hlun "sport = :'"${3:-9999}"'" | grep -q .'
}

# Writes the policy of a tunnel `plain` by that provider; further lines of the tunnel come from standard input.
plain_policy() {
  {
    cat <<END
version: 1
tunnels:
  plain:
    provider:
      installed:
        name: $scene/providers/plain-udp.yaml
        options: { server: "203.0.113.10:9999", address: 10.98.0.2/24, routes: [10.98.0.0/24] }
        insecure: accept
END
    cat
  } >"$policies/plain.yaml"
  roamward check "$policies" >/dev/null
}

# The process of the provider; nothing where none runs.
plain_process() { pgrep -f "python3 $scene/providers/plain-udp" | head -n 1; }

plain_answers() { busybox ping -c 1 -W 1 10.98.0.1 >/dev/null; }

# Installs a provider of this project in the scene, to run as a user without privileges: openvpn, openconnect. TUN devices are for every
# user here, as udev makes them on a machine.
install_provider() {
  local name=$1 provider=$scene/providers
  mkdir -p "$provider"
  chmod 0755 "$provider"
  install -m 0755 "$bin/roamward-provider" "$provider/roamward-provider"
  ln -sf roamward-provider "$provider/$name"
  # The client of our own gateway runs it.
  install -m 0755 "$bin/roamward-wireguard" "$provider/roamward-wireguard"
  sed -e "s|^program: .*|program: $provider/$name|" -e 's|^user: .*|user: nobody|' \
    "$tests/../../../packaging/providers/$name.yaml" >"$provider/$name.yaml"
  chmod 0644 "$provider/$name.yaml"
  mknod "$scene/tun" c 10 200
  chmod 0666 "$scene/tun"
  mount --bind "$scene/tun" /dev/net/tun
}

openvpn_listens() { [[ -n $(on gateway ss -Hlun 'sport = :1194') ]]; }

# An OpenVPN server on the gateway, and `office.ovpn` for its client. The words are further options of the server; $keepalive is that which
# looks for dead clients.
openvpn_server() {
  local keeps
  read -ra keeps <<<"${keepalive---keepalive 2 10}"
  (
    umask 077
    mkdir -p "$scene/pki"
    cd "$scene/pki" || exit
    if [[ ! -e ca.pem ]]; then
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 2
      for name in server client; do
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout $name.key -out $name.csr -subj /CN=$name
        use=clientAuth
        [[ $name == client ]] || use=serverAuth
        printf 'extendedKeyUsage=%s\nkeyUsage=digitalSignature\n' $use >$name.ext
        openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out $name.pem -days 2 -extfile $name.ext
      done
    fi
    on gateway openvpn --cd "$PWD" --daemon --log server.log --writepid server.pid --dev tun --proto udp --lport 1194 \
      --server 10.99.0.0 255.255.255.0 --topology subnet --ca ca.pem --cert server.pem --key server.key --dh none "${keeps[@]}" "$@"
    {
      printf 'client\ndev tun\nproto udp\nremote %s 1194\nnobind\nremote-cert-tls server\nuser nobody\n' 203.0.113.10
      for part in ca:ca.pem cert:client.pem key:client.key; do
        printf '<%s>\n%s\n</%s>\n' "${part%%:*}" "$(openssl "$([[ $part == key* ]] && echo pkey || echo x509)" -in "${part#*:}")" "${part%%:*}"
      done
    } >"$policies/office.ovpn"
  ) >"$scene/pki.log" 2>&1
  within 5 openvpn_listens
}

# Writes the policy of a tunnel `office` by that provider; further lines of the tunnel come from standard input.
openvpn_policy() {
  {
    cat <<END
version: 1
tunnels:
  office:
    provider:
      installed:
        name: $scene/providers/openvpn.yaml
        options: { ${1:-} }
        credentials: { config: office.ovpn${2:+, password: $2} }
END
    cat
  } >"$policies/office.yaml"
  roamward check "$policies" >/dev/null
}

office_answers() { busybox ping -c 1 -W 1 10.99.0.1 >/dev/null; }

# Kills the processes with such a command line, and waits until there are others.
replaced() {
  local killed
  within 20 pgrep -f "$1"
  # One that ends by itself before the kill is none that was killed.
  # shellcheck disable=SC2086 # may be several
  until killed=$(pgrep -f "$1") && kill -KILL $killed 2>/dev/null; do sleep 0.02; done
  within 20 runs_otherwise "$1" "$killed"
}

# With another process than these, one a line.
runs_otherwise() { pgrep -f "$1" | found -vxF "$2"; }
