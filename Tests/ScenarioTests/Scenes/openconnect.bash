# Words for scenes with the provider of OpenConnect: ocserv on the gateway.
# shellcheck shell=bash disable=SC2154,SC2034

ocserv_listens() { [[ -n $(on gateway ss -Hltn 'sport = :443') ]]; }

# Starts a server at 203.0.113.10 with the user alice, whose password is `pass word`. The lines of standard input are further settings.
# $server_pin is its key; $dpd are the seconds after which it looks whether a client is dead.
ocserv_server() {
  local folder=$scene/ocserv
  mkdir -p "$folder"
  chmod 0755 "$folder"
  if [[ ! -e $folder/key.pem ]]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$folder/key.pem" -out "$folder/server.pem" \
      -subj /CN=vpn.example -addext subjectAltName=IP:203.0.113.10 -days 2 2>"$scene/ocserv.log"
    printf 'pass word\npass word\n' | ocpasswd -c "$folder/users" alice >/dev/null
  fi
  server_pin=pin-sha256:$(openssl x509 -in "$folder/server.pem" -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64)
  {
    cat <<END
auth = "plain[passwd=$folder/users]"
tcp-port = 443
udp-port = 443
run-as-user = nobody
run-as-group = nogroup
socket-file = $folder/socket
server-cert = $folder/server.pem
server-key = $folder/key.pem
isolate-workers = false
keepalive = 300
dpd = ${dpd:-5}
mobile-dpd = ${dpd:-5}
try-mtu-discovery = false
cookie-timeout = 300
max-ban-score = 0
rekey-time = 172800
device = oc
ipv4-network = 10.97.0.0/24
ping-leases = false
END
    cat
  } >"$folder/ocserv.conf"
  on gateway ocserv --config "$folder/ocserv.conf" --foreground --pid-file "$folder/pid" </dev/null >>"$scene/ocserv.log" 2>&1 &
  within 10 ocserv_listens
}

end_ocserv() {
  on gateway pkill -TERM -f "ocserv" || true
  within 10 not ocserv_listens
}

# Writes the policy of a tunnel `office` by that provider: options, credentials; further lines of the tunnel come from standard input.
openconnect_policy() {
  {
    cat <<END
version: 1
tunnels:
  office:
    provider:
      installed:
        name: $scene/providers/openconnect.yaml
        options: { server: "https://203.0.113.10", $1 }
END
    [[ -z ${2:-} ]] || echo "        credentials: { $2 }"
    cat
  } >"$policies/office.yaml"
  roamward check "$policies" >/dev/null
}

# The gateway's end answers once the tunnel carries packets.
office_answers() { busybox ping -c 1 -W 1 10.97.0.1 >/dev/null; }
