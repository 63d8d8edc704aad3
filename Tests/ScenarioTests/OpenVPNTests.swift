import Glibc
import Testing

@Suite("An OpenVPN file", .needsLab, .enabled(if: access("/usr/sbin/openvpn", X_OK) == 0, "openvpn is not installed (scripts/setup --vm)"))
struct OpenVPNTests {
  @Test("is imported as it is, and the tunnel that comes of it connects, carries traffic and leaves nothing")
  func imported() throws {
    let scene = try Scene([:])
    try scene.run(openVPN)
    let seen = try scene.run(
      """
      go cafe
      remember
      start_agent
      say "$(field office state)"
      roamward up office >/dev/null
      within 20 field_is office state connected
      reached() { busybox ping -c 1 -W 1 10.99.0.1 >/dev/null; }
      within 10 reached && say reached
      roamward down office >/dev/null
      within 10 field_is office state disconnected
      say "$(way_to 10.99.0.1)"
      stop_agent
      as_before
      """)
    #expect(seen == "[disconnected]\n[reached]\n[dev wlan0]\n0")
  }
}

/// An OpenVPN server on the gateway, and a policy `office` for it, imported from a client's file.
let openVPN = """
  umask 077
  mkdir pki && cd pki
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 2
  for name in server client; do
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout $name.key -out $name.csr -subj /CN=$name
    [[ $name == server ]] && use=serverAuth || use=clientAuth
    printf 'extendedKeyUsage=%s\\nkeyUsage=digitalSignature\\n' $use >$name.ext
    openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out $name.pem -days 2 -extfile $name.ext
  done
  on gateway openvpn --cd "$PWD" --daemon --log server.log --dev tun --proto udp --lport 1194 --server 10.99.0.0 255.255.255.0 \\
    --topology subnet --ca ca.pem --cert server.pem --key server.key --dh none --keepalive 5 20
  listens() { [[ -n $(on gateway ss -Hlun 'sport = :1194') ]]; }
  within 5 listens
  {
    printf 'client\\ndev tun\\nproto udp\\nremote %s 1194\\nnobind\\nremote-cert-tls server\\n' 203.0.113.10
    for part in ca:ca.pem cert:client.pem key:client.key; do
      printf '<%s>\\n%s\\n</%s>\\n' "${part%%:*}" "$(openssl "$([[ $part == key* ]] && echo pkey || echo x509)" -in "${part#*:}")" "${part%%:*}"
    done
  } >office.ovpn
  "$bin/roamward" import office.ovpn --output "$policies"
  """
