package import NetworkTypes

/// The order in which the addresses of a name are tried (RFC 6724 section 6), without rules 3, 4 and 7: the kernel does not report their
/// input to programs.
///
/// `source` returns the address that this machine would use towards one; `nil`: it is unreachable. Addresses that no rule distinguishes
/// keep their order.
package func preferred(_ addresses: [IPAddress], source: (IPAddress) -> IPAddress?) -> [IPAddress] {
  let candidates = addresses.enumerated().map { Candidate($0.element, source: source($0.element), place: $0.offset) }
  return candidates.sorted { $0.comes(before: $1) }.map(\.address)
}

private struct Candidate {
  let address: IPAddress
  let source: IPAddress?
  let place: Int

  init(_ address: IPAddress, source: IPAddress?, place: Int) {
    self.address = address
    self.source = source
    self.place = place
  }

  func comes(before other: Candidate) -> Bool {
    func differ(_ a: Bool, _ b: Bool) -> Bool? { a == b ? nil : a }
    // 1: avoid unusable destinations. 2: prefer matching scope. 5: prefer matching label. 6: prefer higher precedence.
    let rule =
      differ(source != nil, other.source != nil)
      ?? differ(source?.scope == address.scope, other.source?.scope == other.address.scope)
      ?? differ(source?.policy.label == address.policy.label, other.source?.policy.label == other.address.policy.label)
      ?? (address.policy.precedence == other.address.policy.precedence
        ? nil : address.policy.precedence > other.address.policy.precedence)
    if let rule { return rule }
    // 8: prefer smaller scope. 9: use the longest matching prefix. 10: leave the order unchanged.
    if address.scope != other.address.scope { return address.scope < other.address.scope }
    if address.family == .v6, other.address.family == .v6, commonBits != other.commonBits { return commonBits > other.commonBits }
    return place < other.place
  }

  private var commonBits: Int {
    guard let source else { return 0 }
    let high = (source.high ^ address.high).leadingZeroBitCount
    return high < 64 ? high : 64 + (source.low ^ address.low).leadingZeroBitCount
  }
}

extension IPAddress {
  /// RFC 4291 section 2.7 and RFC 6724 section 3.2: 2 for link-local, 5 for site-local, 14 for global.
  fileprivate var scope: Int {
    if isLoopback || isLinkLocal { return 2 }
    return family == .v6 && high >> 54 == 0x3fb ? 5 : 14
  }

  /// The default policy table of RFC 6724 section 2.1.
  fileprivate var policy: (precedence: Int, label: Int) {
    if family == .v4 || (high == 0 && low >> 32 == 0xffff) { return (35, 4) }
    if high == 0, low == 1 { return (50, 0) }
    if high == 0, low >> 32 == 0 { return (1, 3) }
    if high >> 48 == 0x2002 { return (30, 2) }
    if high >> 32 == 0x2001_0000 { return (5, 5) }
    if high >> 57 == 0x7e { return (3, 13) }
    if high >> 54 == 0x3fb { return (1, 11) }
    if high >> 48 == 0x3ffe { return (1, 12) }
    return (40, 1)
  }
}
