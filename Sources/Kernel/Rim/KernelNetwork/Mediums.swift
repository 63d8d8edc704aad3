package import KernelModel
package import NetworkTypes

/// The medium of each link, from the lowest link that carries it. For a bond that is its active port, for a bridge the hardware port with
/// carrier, for a VLAN or MACVLAN its lower link. Loopback has none. `bus` is called for links without lower links.
/// It may escape, because the check that it does not would put the length of this file's path into the program (scripts/reproduce).
package func mediums(
  of links: [Link], radios: Set<InterfaceIndex>, bus: @escaping (Link) -> DeviceAttachment
) -> [InterfaceIndex: Medium] {
  var detector = MediumDetector(links, radios: radios)
  for link in links where !link.isLoopback { _ = detector.medium(of: link, bus) }
  return detector.known
}

private struct MediumDetector {
  private let links: [InterfaceIndex: Link]
  private let ports: [InterfaceIndex: [Link]]
  private let radios: Set<InterfaceIndex>
  private(set) var known: [InterfaceIndex: Medium] = [:]
  /// Links under evaluation: a cycle, which the kernel does not permit, would be cut here.
  private var open: Set<InterfaceIndex> = []

  init(_ links: [Link], radios: Set<InterfaceIndex>) {
    self.links = Dictionary(links.map { ($0.index, $0) }) { first, _ in first }
    ports = Dictionary(grouping: links.filter { $0.master != nil && $0.isUp && $0.hasCarrier }) { $0.master ?? $0.index }
    self.radios = radios
  }

  mutating func medium(of link: Link, _ bus: (Link) -> DeviceAttachment) -> Medium {
    if let medium = known[link.index] { return medium }
    guard open.insert(link.index).inserted else { return Medium(.other, reason: "it lies on itself", carrier: link.index) }
    defer { open.remove(link.index) }
    let medium = judged(link, bus)
    known[link.index] = medium
    return medium
  }

  private mutating func judged(_ link: Link, _ bus: (Link) -> DeviceAttachment) -> Medium {
    switch link.kind {
    case "bond", "team":
      let all = ports[link.index] ?? []
      let active = all.filter { $0.index == link.activePort }
      let used = active.isEmpty ? all.filter { !$0.isBackup } : active
      return byPorts(used.map { ($0, medium(of: $0, bus)) }, of: link, "active port") ?? byItself(link, bus, "no port of it has carrier")
    case "bridge", "openvswitch":
      let found = (ports[link.index] ?? []).map { ($0, medium(of: $0, bus)) }
      let hardware = found.filter { links[$0.1.carrier]?.kind == nil && $0.1.type != .virtual }
      return byPorts(hardware, of: link, "hardware port with carrier")
        ?? byItself(link, bus, "a bridge without a hardware port that has carrier")
    case "vlan", "macvlan", "macvtap", "ipvlan", "dsa":
      guard let lower = link.lower.flatMap({ links[$0] }) else { return byItself(link, bus, "the link below it is not to be seen here") }
      let below = medium(of: lower, bus)
      return Medium(below.type, reason: "it lies on \(lower.name): \(below.reason)", carrier: below.carrier)
    default: return byItself(link, bus, nil)
    }
  }

  private func byItself(_ link: Link, _ bus: (Link) -> DeviceAttachment, _ reason: String?) -> Medium {
    let isWiFi = radios.contains(link.index)
    let facts = bus(link)
    let type = interfaceType(of: link, isWiFi: isWiFi, bus: facts)
    return Medium(type, reason: reason ?? evidence(link, isWiFi, facts), carrier: link.index)
  }

  /// Ports of one kind decide. Among several kinds, the one that strangers reach most easily decides: rules are less strict for cables.
  private func byPorts(_ ports: [(Link, Medium)], of link: Link, _ what: String) -> Medium? {
    let ordered = ports.sorted { ($0.1.type.caution, $0.0.name) < ($1.1.type.caution, $1.0.name) }
    guard let (port, medium) = ordered.first else { return nil }
    let others = ordered.dropFirst().filter { $0.1.type != medium.type }
    let choice = others.isEmpty ? "" : ", rather than \(others.map { "\($0.0.name) (\($0.1.type.rawValue))" }.joined(separator: ", "))"
    return Medium(medium.type, reason: "its \(what) \(port.name)\(choice): \(medium.reason)", carrier: medium.carrier)
  }
}

/// The evidence for the type of a link without lower links.
private func evidence(_ link: Link, _ isWiFi: Bool, _ bus: DeviceAttachment) -> String {
  if isWiFi { return "nl80211 knows it" }
  if let type = bus.deviceType, ["wlan", "wwan", "bluetooth"].contains(type) { return "device type \(type)" }
  if let kind = link.kind { return "a \(kind) link" }
  if let driver = bus.driver { return "driver \(driver)" + (bus.bus.map { ", bus \($0)" } ?? "") }
  return "hardware type \(link.hardwareType) of the kernel"
}

extension InterfaceType {
  /// Lower values: more easily reached by strangers.
  fileprivate var caution: Int {
    switch self {
    case .wifi: 0
    case .bluetooth: 1
    case .cellular: 2
    case .usbTether: 3
    case .other: 4
    case .virtual: 5
    case .bridge: 6
    case .ethernet: 7
    }
  }
}
