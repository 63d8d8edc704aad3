package import NetworkTypes
package import RoamwardCore

/// The networks that a policy can tell apart, by representatives: for every fact one value out of each cell into which the policy's own
/// constants divide its values. Whatever network there is, the policy judges one of these alike.
package struct FactUniverse: Sendable {
  package let interfaceNames: [String]
  /// `nil` is the first in these four: there is none.
  package let ssids: [SSID?]
  package let bssids: [MACAddress?]
  package let gatewayMACs: [MACAddress?]
  package let securities: [WiFiSecurity?] = [nil] + WiFiSecurity.allCases.map { $0 }
  /// Of these a link may have any number, none included.
  package let domains: [DomainName]
  package let servers: [IPAddress]
  package let addresses: [IPAddress]
  package let gateways: [IPAddress]
  package let times: [LocalTime]

  /// `nil` where the constants are too many to reason about.
  package init?(of conditions: [Condition]) {
    let constants = PolicyConstants(conditions)
    guard constants.largestCount <= 1500, let names = linkNames(constants), let ssids = Self.ssids(constants) else { return nil }
    interfaceNames = names
    self.ssids = [nil] + ssids
    bssids = Self.hardwareAddresses(constants.bssids)
    gatewayMACs = Self.hardwareAddresses(constants.gatewayMACs)
    domains = constants.domains.sorted() + [Self.otherDomain(than: constants.domains)]
    servers = addressesToldApart(by: constants.servers)
    addresses = addressesToldApart(by: constants.subnets)
    gateways = constants.gateways.sorted() + [Self.otherAddress(than: constants.gateways)]
    times = timesToldApart(by: constants.windows)
  }

  private static func ssids(_ constants: PolicyConstants) -> [SSID]? {
    if constants.ssidGlobs.isEmpty {
      var other: [UInt8] = [UInt8(ascii: "X")]
      while constants.ssids.contains(where: { $0.bytes == other }) { other.append(UInt8(ascii: "X")) }
      return constants.ssids.sorted() + (SSID(bytes: other).map { [$0] } ?? [])
    }
    let patterns = constants.ssids.sorted().map { $0.bytes.map { PatternToken.byte($0) } } + globs(constants.ssidGlobs)
    return stringsToldApart(by: patterns, lengths: 1...32) { _ in true }?.compactMap { SSID(bytes: $0) }
  }

  private static func hardwareAddresses(_ named: Set<MACAddress>) -> [MACAddress?] {
    let other = (0...UInt8.max).lazy.compactMap { MACAddress(bytes: [2, 0, 0, 0, 0, $0]) }.first { !named.contains($0) }
    let more = other ?? (0...UInt8.max).lazy.compactMap { MACAddress(bytes: [2, 0, 0, 0, 1, $0]) }.first { !named.contains($0) }
    return [nil] + named.sorted().map { $0 } + (more.map { [$0] } ?? [])
  }

  /// A name of one label that is none of them and below none of them.
  private static func otherDomain(than named: Set<DomainName>) -> DomainName {
    var text = "elsewhere"
    while true {
      if let name = DomainName(text), !named.contains(name) { return name }
      text = text.utf8.count < 63 ? text + "x" : "y"
    }
  }

  private static func otherAddress(than named: Set<IPAddress>) -> IPAddress {
    var value: UInt32 = 0xc000_0201
    while named.contains(IPAddress(v4: value)) { value &+= 1 }
    return IPAddress(v4: value)
  }
}

private func globs(_ patterns: Set<Glob>) -> [[PatternToken]] { patterns.sorted { $0.description < $1.description }.map(\.tokens) }

/// `dev_valid_name` of linux/net/core/dev.c.
private func linkNames(_ constants: PolicyConstants) -> [String]? {
  guard !constants.interfaceGlobs.isEmpty else { return ["link0"] }
  let dots: [[UInt8]] = [[UInt8(ascii: ".")], [UInt8(ascii: "."), UInt8(ascii: ".")]]
  let names = stringsToldApart(
    by: globs(constants.interfaceGlobs), lengths: 1...15, isAllowed: { $0 > 0x20 && $0 < 0x7f && $0 != 0x2f && $0 != 0x3a },
    isForbidden: dots.contains)
  return names?.map { String(decoding: $0, as: UTF8.self) }
}

/// One address of every cell: a cell's lowest address is a prefix's first, or the one after a prefix's last, or the family's first.
private func addressesToldApart(by prefixes: Set<IPPrefix>) -> [IPAddress] {
  let ordered = prefixes.sorted()
  let edges = ordered.map(\.address) + ordered.compactMap(\.addressBehind) + [.unspecified(.v4), .unspecified(.v6)]
  var seen = Set<[Bool]>()
  return Set(edges).sorted().filter { address in seen.insert(ordered.map { $0.contains(address) }).inserted }
}

extension IPPrefix {
  /// The address after the last one; `nil` at the end of the family.
  fileprivate var addressBehind: IPAddress? {
    let hostBits = family.bitWidth - length
    guard length > 0 else { return nil }
    if family == .v4 {
      let (sum, isOver) = UInt32(truncatingIfNeeded: address.low).addingReportingOverflow(1 << UInt32(hostBits))
      return isOver ? nil : IPAddress(v4: sum)
    }
    if hostBits >= 64 {
      let (high, isOver) = address.high.addingReportingOverflow(1 << UInt64(hostBits - 64))
      return isOver ? nil : IPAddress(family: .v6, high: high, low: 0)
    }
    let (low, carries) = address.low.addingReportingOverflow(1 << UInt64(hostBits))
    let (high, isOver) = address.high.addingReportingOverflow(carries ? 1 : 0)
    return isOver ? nil : IPAddress(family: .v6, high: high, low: low)
  }
}

/// One moment of every cell of the week.
private func timesToldApart(by windows: Set<TimeWindow>) -> [LocalTime] {
  let ordered = windows.sorted { $0.description < $1.description }
  let minutes = Set([0] + ordered.flatMap { [$0.from, $0.to] }).filter { $0 < 1440 }.sorted()
  let moments = Weekday.allCases.flatMap { day in minutes.map { LocalTime(day: day, second: $0 * 60) } }
  var seen = Set<[Bool]>()
  return moments.filter { moment in seen.insert(ordered.map { $0.contains(moment) }).inserted }
}
