import Glibc
import Testing

/// Servers of other protocols die while a person's packets go into the tunnel, set as administrators set them: their own time limits are
/// minutes.
@Suite("A server of another protocol that dies", .needsLab, .marksSockets)
struct DeadProviderTests {
  /// The whole event of a provider, with the server and the policy of this scene.
  private func dies(_ scene: String, with values: KeyValuePairs<String, any CustomStringConvertible> = [:]) throws {
    let lab = try Scene([:])
    let seen = try lab.play(scene, with: values)
    print(scene, lab.read("dead.log"))
    #expect(seen.lines == ["[reasserting]", "[back, failure null]", "[asks 0]", "0"], "\(seen)\n\(lab.read("dead.log"))")
  }

  @Test(
    "OpenVPN, with keepalive 10 120 and with none",
    .enabled(if: access("/usr/sbin/openvpn", X_OK) == 0, "openvpn is not installed (scripts/setup --vm)"),
    arguments: ["--keepalive 10 120", ""])
  func openVPN(keepalive: String) throws {
    try dies("DeadProvider/openvpn", with: ["KEEPALIVE": keepalive])
  }

  @Test(
    "OpenConnect, whose server wants a person's password, and looks for dead clients after a minute and a half",
    .enabled(
      if: ["openconnect", "ocserv"].allSatisfy { access("/usr/sbin/\($0)", X_OK) == 0 },
      "openconnect and ocserv are not installed (scripts/setup --vm)"))
  func openConnect() throws {
    try dies("DeadProvider/openconnect")
  }

  @Test("Nebula", .enabled(if: access("/usr/bin/nebula", X_OK) == 0, "nebula is not installed (scripts/setup --vm)"))
  func nebula() throws {
    try dies("DeadProvider/nebula")
  }
}
