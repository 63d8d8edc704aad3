import Testing

/// The output of every command for every kind of provider. A kind that is added to the schema, or a provider that is shipped, fails the
/// first expectation until the policy here has it.
@Suite("Each kind of provider", .needsLab)
struct ProviderKindTests {
  /// One tunnel of each kind: the end of its title, and what `plan` says that its provider is asked for (WireGuard's is in the steps).
  private static let kinds: [(name: String, said: String, class: String, action: String?)] = [
    ("wireguard", "/corp.conf (", "owned", nil),
    ("command", "command /bin/true (", "foreign", "runs `/bin/true`, whose changes are not known here"),
    ("unit", "unit work.service (", "foreign", "asks systemd to start work.service; what that changes is not known here"),
    (
      "networkmanager", "networkmanager Work (", "foreign",
      "asks NetworkManager to activate the profile Work; what that changes is not known here"
    ),
    ("tailscale", "tailscale (", "foreign", "asks tailscaled to connect; what that changes is not known here"),
    installed("openvpn", "roamward-openvpn"), installed("openconnect", "roamward-openconnect"), installed("nebula", "roamward-nebula"),
    installed("strongswan", "roamward-strongswan"), installed("roamward", "roamward-client"),
  ]

  private static func installed(_ name: String, _ program: String) -> (String, String, String, String?) {
    let action = "starts SCENE/providers/\(program) as the user nobody; the settings that it brings become further steps"
    // Here its name is the path of its manifest.
    return (name, "/providers/\(name).yaml (", "owned", action)
  }

  @Test("is known to explain, plan, diff, state, doctor, simulate and cleanup")
  func known() throws {
    let scene = try Scene(["all.yaml": policy])
    try scene.play("ProviderKind/known")
    #expect(scene.read("kinds").lines == Self.kinds.map(\.name).sorted())
    let (plan, diff, doctor) = (scene.read("plan").lines, scene.read("diff").lines, scene.read("doctor"))
    let simulated = scene.read("simulate")
    for kind in Self.kinds {
      let said = scene.read("explain-\(kind.name)")
      #expect(said.contains("provider: ") && said.contains(" (\(kind.class)): "), "\(said)")
      #expect(said.contains(kind.said), "\(said)")
      let document = scene.read("explain-\(kind.name).json")
      #expect(document.contains(#""class":"\#(kind.class)""#), "\(document)")
      // Objects that the agent makes itself are steps, and missing now; a request to the provider is an action.
      #expect(plan.contains { $0.hasPrefix("ip link set dev \(kind.name) up") } == (kind.class == "owned"), "\(kind.name)")
      #expect(diff.contains("-link \(kind.name) up") == (kind.class == "owned"), "\(kind.name): \(diff)")
      let action = plan.first { $0.hasPrefix("start: \(kind.name): ") }
      let end = kind.action.map { String($0.replacing("SCENE/", with: "").drop { $0 != "/" }) } ?? ""
      #expect((action == nil) == (kind.action == nil) && action?.hasSuffix(end) ?? true, "\(kind.name): \(action ?? "none")")
      #expect(scene.read("plan.json").contains("\(kind.name) true") == (kind.action != nil))
      #expect(doctor.contains("hint     \(kind.name) (\(kind.name)") == (kind.class == "foreign" && kind.name != "command"), "\(doctor)")
      #expect(simulated.contains("\(kind.name): connecting -> connected"), "\(simulated)")
    }
    // None of those services runs in the scene; no override was given.
    for (tunnel, reason) in [
      ("networkmanager", "NetworkManager is not running"), ("tailscale", "tailscaled is not running"), ("unit", "no unit work.service"),
    ] {
      #expect(doctor.contains { $0.isNewline } && doctor.contains("\(tunnel) cannot be brought up: ") && doctor.contains(reason))
    }
    #expect(!doctor.contains("manual override"))
    #expect(scene.read("state-listing").contains("Roamward owns nothing") && scene.read("cleanup").contains("no leftover state"))
  }
}

private let policy = """
  version: 1
  tunnels:
    wireguard:
      provider: { wireguard: { config: corp.conf } }
      on-demand: { rules: [{ action: connect }] }
      routes: { include: [10.1.0.0/16] }
    command:
      provider: { command: { up: [/bin/true], down: [/bin/true], interface: cmd0 } }
      on-demand: { rules: [{ action: connect }] }
    unit:
      provider: { unit: { name: work.service } }
      on-demand: { rules: [{ action: connect }] }
    networkmanager:
      provider: { networkmanager: { profile: Work } }
      on-demand: { rules: [{ action: connect }] }
    tailscale:
      provider: { tailscale: {} }
      on-demand: { rules: [{ action: connect }] }
    openvpn:
      provider: { installed: { name: openvpn.yaml, credentials: { config: secret } } }
      on-demand: { rules: [{ action: connect }] }
    openconnect:
      provider: { installed: { name: openconnect.yaml, options: { server: "https://vpn.example" } } }
      on-demand: { rules: [{ action: connect }] }
    nebula:
      provider: { installed: { name: nebula.yaml, credentials: { config: secret } } }
      on-demand: { rules: [{ action: connect }] }
    strongswan:
      provider: { installed: { name: strongswan.yaml, options: { server: vpn.example }, credentials: { psk: secret } } }
      on-demand: { rules: [{ action: connect }] }
    roamward:
      provider:
        installed:
          name: roamward.yaml
          options: { server: "vpn.example:51820", pin: "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=" }
      on-demand: { rules: [{ action: connect }] }

  """
