import NetworkTypes

extension WiFiSecurity {
  /// The security of a network, from its elements and the privacy bit of its capabilities. `nil` if its key management is unsupported.
  ///
  /// A network with several methods (WPA2 and WPA3 "transition mode") counts as the weakest: the beacon does not show the negotiated one.
  /// An attacker who knows the weaker secret can impersonate the access point.
  package init?(elements: ArraySlice<UInt8>, isPrivate: Bool) {
    var offered: Set<WiFiSecurity> = []
    var isProtected = false
    for element in InformationElements(elements) {
      if element.id == Element.rsn {
        isProtected = true
        offered.formUnion(Self.offered(byRSN: element.content))
      } else if element.id == Element.vendor, element.content.starts(with: Element.wpa) {
        isProtected = true
        offered.insert(.wpa)
      }
    }
    if !isProtected {
      self = isPrivate ? .wep : .open
    } else if let weakest = Self.weakestFirst.first(where: offered.contains) {
      self = weakest
    } else {
      return nil
    }
  }

  private static let weakestFirst: [WiFiSecurity] = [.wpa, .owe, .wpa2, .wpa3, .wpa2Enterprise, .wpa3Enterprise]

  /// The RSN element (9.4.2.24): version u16, group cipher, count and list of pairwise ciphers, count and list of AKM suites, capabilities;
  /// little-endian, suites of 4 bytes. It may end after any part; without AKM suites 802.1X applies.
  private static func offered(byRSN content: ArraySlice<UInt8>) -> Set<WiFiSecurity> {
    guard content.little16(at: 0) == 1 else { return [] }
    var rest = content.dropFirst(6)
    guard let ciphers = rest.little16(at: 0), !rest.isEmpty else { return [.wpa2Enterprise] }
    rest = rest.dropFirst(2 + 4 * Int(ciphers))
    guard let count = rest.little16(at: 0), count > 0 else { return [.wpa2Enterprise] }
    let suites = rest.dropFirst(2).prefix(4 * Int(count))
    let capabilities = rest.dropFirst(2 + 4 * Int(count)).little16(at: 0) ?? 0
    // MFPR: protection of management frames is required.
    let isProtectionRequired = capabilities & 0x40 != 0
    var types: Set<UInt8> = []
    var list = suites
    while list.count >= 4 {
      if list.starts(with: Element.ieee), let type = list.byte(at: 3) { types.insert(type) }
      list = list.dropFirst(4)
    }
    let isOldEnterprise = !types.isDisjoint(with: [1, 3])
    return Set(types.compactMap { offered(bySuite: $0, isWPA3Enterprise: isProtectionRequired && !isOldEnterprise) })
  }

  /// The method of an AKM suite type (table 9-151): 802.1X, pre-shared keys, SAE, OWE.
  private static func offered(bySuite type: UInt8, isWPA3Enterprise: Bool) -> WiFiSecurity? {
    switch type {
    case 2, 4, 6, 19, 20: .wpa2
    case 8, 9, 24, 25: .wpa3
    case 18: .owe
    case 1, 3, 14, 15, 16, 17: .wpa2Enterprise
    case 5: isWPA3Enterprise ? .wpa3Enterprise : .wpa2Enterprise
    case 11, 12, 13, 22, 23: .wpa3Enterprise
    default: nil
    }
  }

  private enum Element {
    static let rsn: UInt8 = 48
    static let vendor: UInt8 = 221
    /// Microsoft's OUI and the type of WPA 1.
    static let wpa: [UInt8] = [0x00, 0x50, 0xf2, 0x01]
    static let ieee: [UInt8] = [0x00, 0x0f, 0xac]
  }
}
