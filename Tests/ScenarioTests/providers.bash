# Words for scenes with installed providers: examples/providers/plain-udp, and its other end on the gateway.
# shellcheck shell=bash disable=SC2154

# Installs the provider of examples/providers in the scene, to run as a user without privileges, and starts its server.
# The word is a part of its program's name: plain-udp.py.
install_plain() {
  local root=$tests/../.. provider=$scene/providers
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
