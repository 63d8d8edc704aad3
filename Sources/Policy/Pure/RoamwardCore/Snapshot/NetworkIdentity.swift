package import NetworkTypes

/// The identity of a network. Overrides that last "until the network changes" depend on it, and so do probe results.
///
/// Only properties of the network itself count: the medium, the SSID, and per family the gateways with their hardware addresses. Left out
/// on purpose are own addresses and leases (they renew), name servers, the MTU, and the access point (a machine roams among many). Also
/// left out are links that are not primary (containers come and go). The link's name and index do not count either (it may be renamed, or
/// plugged in again).
///
/// The facts arrive one after the other: IPv4 before IPv6, a gateway before its hardware address. So there are two questions. `mayBeSame`:
/// may both be the same network? A fact that is unknown on one side does not distinguish them. `isProvenSame`: are they the same, proven by
/// a gateway's hardware address? Facts that arrive during the visit are added (`learn`), so an identity that began with little ends
/// complete.
///
/// A backup router that takes over with a hardware address of its own looks like another network, as an impostor would. One that takes over
/// a virtual address (VRRP, RFC 9568) does not.
package struct NetworkIdentity: Hashable, Sendable {
  /// The primary link's name, for people: it does not distinguish networks. `nil`: there is no network.
  package let link: String?
  /// The link's type; `nil`: not known.
  package private(set) var type: InterfaceType?
  /// The SSID; `nil`: not known, or not on Wi-Fi.
  package private(set) var ssid: SSID?
  /// Default gateways of both families, with the known hardware addresses.
  package private(set) var gateways: [IPAddress: MACAddress?]

  package init(link: String?, type: InterfaceType?, ssid: SSID?, gateways: [IPAddress: MACAddress?]) {
    self.link = link
    self.type = type
    self.ssid = ssid
    self.gateways = gateways
  }

  /// The identity without a network.
  package static let none = NetworkIdentity(link: nil, type: nil, ssid: nil, gateways: [:])

  package init(of snapshot: NetworkSnapshot) {
    guard let primary = snapshot.primaryLink else {
      self = .none
      return
    }
    var gateways = Dictionary(primary.gateways.map { ($0, MACAddress?.none) }) { first, _ in first }
    // The hardware address in a snapshot is the first gateway's.
    if let first = primary.gateways.first { gateways[first] = .some(primary.gatewayMAC.value ?? nil) }
    self.init(link: primary.name, type: primary.type.value, ssid: primary.ssid.value ?? nil, gateways: gateways)
  }

  package var isNone: Bool { link == nil }

  /// Whether both may be the same network: a fact that is unknown on one side (as yet) does not distinguish them. Symmetric.
  package func mayBeSame(as other: NetworkIdentity) -> Bool {
    guard isNone == other.isNone, agree(type, other.type), agree(ssid, other.ssid) else { return false }
    let verdicts = IPAddress.Family.allCases.map { agreement(with: other, $0) }
    // One router proven the same proves the network: the other family's may come and go.
    return verdicts.contains(.yes) || !verdicts.contains(.no)
  }

  /// Whether both are provably the same network: medium and SSID, and a gateway with the same hardware address. For results that must never
  /// be used on another network. Symmetric; a network without gateways is never proven.
  package func isProvenSame(as other: NetworkIdentity) -> Bool {
    type == other.type && ssid == other.ssid && mayBeSame(as: other)
      && IPAddress.Family.allCases.contains { agreement(with: other, $0) == .yes }
  }

  /// Adds the facts that only the other identity has; it may be the same network.
  package mutating func learn(_ other: NetworkIdentity) {
    guard mayBeSame(as: other) else { return }
    type = type ?? other.type
    ssid = ssid ?? other.ssid
    for (gateway, hardware) in other.gateways { gateways[gateway] = .some((gateways[gateway] ?? nil) ?? hardware) }
  }

  /// Whether the gateways of one family are the same: yes if one of them has the same hardware address, no if none agrees.
  private func agreement(with other: NetworkIdentity, _ family: IPAddress.Family) -> Truth {
    let (own, others) = (gateways.filter { $0.key.family == family }, other.gateways.filter { $0.key.family == family })
    if own.isEmpty || others.isEmpty { return .unknown }
    let common = own.compactMap { gateway, hardware in others[gateway].map { (hardware, $0) } }
    if common.isEmpty { return .no }
    let known = common.filter { $0.0 != nil && $0.1 != nil }
    if known.contains(where: { $0.0 == $0.1 }) { return .yes }
    return known.count == common.count ? .no : .unknown
  }
}

private func agree<Value: Equatable>(_ a: Value?, _ b: Value?) -> Bool { a == nil || b == nil || a == b }

extension NetworkIdentity {
  /// Eight hexadecimal digits that identify the network in one family; `nil` until they are certain. The families have one each, so that
  /// the later one does not change the earlier one. The same on every machine and in every version; for comparison by people, not a secret.
  package func digest(_ family: IPAddress.Family) -> String? {
    guard let type, type != .wifi || ssid != nil else { return nil }
    let known = gateways.filter { $0.key.family == family && $0.value != nil }
    guard let gateway = known.keys.min(), let hardware = known[gateway] ?? nil else { return nil }
    let text = "\(type.rawValue)\n\(ssid.map { Array($0.bytes).map(hexadecimal).joined() } ?? "")\n\(gateway) \(hardware)"
    // Fold the hash to 32 bits.
    let hash = FNV1a(text).value
    return hexadecimal(UInt32(truncatingIfNeeded: hash ^ hash >> 32))
  }

  /// For people: `3f2a90c1`, with both families `3f2a90c1 (IPv4), 70b1c2d3 (IPv6)`.
  package var text: String {
    let digests = IPAddress.Family.allCases.compactMap { family in digest(family).map { (family, $0) } }
    if digests.count == 1 { return digests[0].1 }
    return digests.isEmpty ? "not known yet" : digests.map { "\($0.1) (\($0.0 == .v4 ? "IPv4" : "IPv6"))" }.joined(separator: ", ")
  }
}

private func hexadecimal<Number: FixedWidthInteger & UnsignedInteger>(_ number: Number) -> String {
  let digits = String(number, radix: 16)
  return String(repeating: "0", count: Number.bitWidth / 4 - digits.count) + digits
}
