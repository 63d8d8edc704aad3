import Glibc
import Testing

/// Servers of other protocols die while a person's packets go into the tunnel, set as administrators set them: their own time limits are
/// minutes.
@Suite("A server of another protocol that dies", .needsLab, .marksSockets)
struct DeadProviderTests {
  /// The whole event of a provider, whose server and policy these lines make.
  private func dies(_ provider: String, _ words: String, _ server: String, _ inside: String, _ ports: String) throws {
    let scene = try Scene([:], words: ["providers.bash", words, "dead.bash"].uniqued)
    try scene.run("install_provider \(provider)")
    let seen = try scene.run(
      """
      both_ways=1
      go cafe
      \(server)
      start_agent
      roamward up office >/dev/null
      within 20 field_is office state connected
      within 10 busybox ping -c 1 -W 1 \(inside) >/dev/null
      dies_and_returns office \(inside) \(ports)
      say "asks $(field office 'questions | length')"
      roamward down office >/dev/null
      within 15 field_is office state disconnected
      stop_agent
      """, limit: 300)
    print(provider, scene.read("dead.log"))
    #expect(seen.lines == ["[reasserting]", "[back, failure null]", "[asks 0]", "0"], "\(seen)\n\(scene.read("dead.log"))")
  }

  @Test(
    "OpenVPN, with keepalive 10 120 and with none",
    .enabled(if: access("/usr/sbin/openvpn", X_OK) == 0, "openvpn is not installed (scripts/setup --vm)"),
    arguments: ["--keepalive 10 120", ""])
  func openVPN(keepalive: String) throws {
    let server = """
      keepalive="\(keepalive)" openvpn_server --push "route 10.98.0.0 255.255.0.0"
      openvpn_policy </dev/null
      """
    try dies("openvpn", "providers.bash", server, "10.99.0.1", "'udp dport 1194'")
  }

  @Test(
    "OpenConnect, whose server wants a person's password, and looks for dead clients after a minute and a half",
    .enabled(
      if: ["openconnect", "ocserv"].allSatisfy { access("/usr/sbin/\($0)", X_OK) == 0 },
      "openconnect and ocserv are not installed (scripts/setup --vm)"))
  func openConnect() throws {
    let server = """
      dpd=90 ocserv_server <<<'route = 10.97.0.0/255.255.255.0'
      openconnect_policy "username: alice, server-certificate: '$server_pin'" </dev/null
      # A person types it once.
      (within 30 field_is office 'questions[0].kind' password && printf 'pass word\\n' | roamward answer office) >/dev/null 2>&1 &
      """
    try dies("openconnect", "openconnect.bash", server, "10.97.0.1", "'tcp dport 443' 'udp dport 443'")
  }

  @Test("Nebula", .enabled(if: access("/usr/bin/nebula", X_OK) == 0, "nebula is not installed (scripts/setup --vm)"))
  func nebula() throws {
    let server = """
      nebula_server
      nebula_policy laptop </dev/null
      """
    try dies("nebula", "nebula.bash", server, "10.96.0.1", "'udp dport 4242'")
  }
}

extension [String] {
  fileprivate var uniqued: [String] { reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
}
