import NetworkTypes
import RoamwardCore

/// The partly read keys of `unit`.
struct UnitDraft {
  var name: String?
  var interface: String?
}

let unitKeys = Mapping(
  subject: "the `unit` provider", draft: UnitDraft(),
  keys: [
    Key(
      required: "name", .unitName, "The unit, with its suffix; it is active while the tunnel is connected.",
      example: "openvpn-client@work.service"
    ) { $0.name = $1 },
    Key("interface", .interfaceName, "The link that the unit creates; needed to set routes.", example: "tun0") { $0.interface = $1 },
  ])

/// The partly read keys of `networkmanager`.
struct ProfileDraft {
  var profile: String?
}

let profileKeys = Mapping(
  subject: "the `networkmanager` provider", draft: ProfileDraft(),
  keys: [
    Key(required: "profile", .line, "The profile, by its name or UUID (`nmcli connection`).", example: "Work") { $0.profile = $1 }
  ])

/// The partly read keys of `tailscale`.
struct TailscaleDraft {
  var exitNode: IPAddress?
}

let tailscaleKeys = Mapping(
  subject: "the `tailscale` provider", draft: TailscaleDraft(),
  keys: [
    Key("exit-node", .address, "The exit node while the tunnel is up; absent: it stays as it is.", example: "100.64.0.9") {
      $0.exitNode = $1
    }
  ])

func readTailscale(_ node: Node, _ reading: inout Reading) -> ServiceProviderConfiguration? {
  tailscaleKeys.read(node, &reading).map { ServiceProviderConfiguration(.tailscale(exitNode: $0.exitNode)) }
}

func readUnit(_ node: Node, _ reading: inout Reading) -> ServiceProviderConfiguration? {
  guard let draft = unitKeys.read(node, &reading), let name = draft.name else { return nil }
  return ServiceProviderConfiguration(.unit(name), interface: draft.interface)
}

func readProfile(_ node: Node, _ reading: inout Reading) -> ServiceProviderConfiguration? {
  guard let profile = profileKeys.read(node, &reading)?.profile else { return nil }
  return ServiceProviderConfiguration(.profile(profile))
}

extension ValueReader where Value == String {
  /// systemd.unit(5): the characters of a name, and a suffix of what can be a tunnel.
  fileprivate static let unitName = ValueReader(
    expected: "the name of a unit, such as openvpn-client@work.service", schema: .string(pattern: SchemaPattern.unit)
  ) {
    node, reading in
    guard case .scalar(let text, _) = node.content, isUnitName(text) else {
      reading.expected("a unit's name with `.service` or `.target`", at: node)
      return nil
    }
    return text
  }
}

private func isUnitName(_ text: String) -> Bool {
  text.utf8.count <= 255 && text.first != "-"
    && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ":-_.\\@".contains($0)) }
    && [".service", ".target"].contains { text.hasSuffix($0) && text.count > $0.count }
}

/// Refuses what a policy cannot set on a tunnel that another service sets up.
func judgeService(_ service: ServiceProviderConfiguration, of entry: Node.Entry, _ draft: TunnelDraft, _ reading: inout Reading) {
  func refuse(_ key: String, _ message: String, help: String) {
    guard case .mapping(let entries) = entry.value.content, let found = entries.first(where: { $0.key == key }) else { return }
    reading.error(message, help: help, at: found.keyLocation)
  }
  switch service.service {
  case .profile(let name):
    refuseSettings("NetworkManager sets this of its profiles", help: "set it in the profile: `nmcli connection modify \(name)`")
    refuseGuards(
      "the packets of NetworkManager's VPN programs cannot be told from others",
      help: "use the tunnel's own provider: `wireguard`, or `installed`")
    refuse("through", "NetworkManager alone decides how the packets of its profiles leave", help: "use the tunnel's own provider")
  case .tailscale:
    refuseSettings("tailscaled sets this by itself", help: "set it in the tailnet, or by `tailscale set`")
    refuseGuards("tailscaled has marks and routes of its own", help: "use an exit node, which takes everything")
    refuse("through", "tailscaled alone decides how its packets leave", help: "remove it")
  case .unit(let name) where !service.hasGroup:
    let (reason, cure) = ("\(name) has no processes whose packets could be marked", "name the service that carries the tunnel")
    refuseGuards(reason, help: cure)
    if draft.routes?.isEnforced == true || draft.routes?.include.coverEverything == true {
      refuse("routes", "\(reason), so a tunnel for everything would take them too", help: cure)
    }
    refuse("through", "\(reason), so none would go through another tunnel", help: cure)
  case .unit: break
  }

  func refuseSettings(_ reason: String, help: String) {
    for key in ["routes", "apps", "dns", "mtu", "overhead"] { refuse(key, "\(reason), so `\(key)` cannot be acted on", help: help) }
  }
  func refuseGuards(_ reason: String, help: String) {
    guard draft.guarding != nil else { return }
    for key in ["kill-switch", "include-all-networks"] { refuse(key, "\(reason), so `\(key)` would block them too", help: help) }
  }
}
