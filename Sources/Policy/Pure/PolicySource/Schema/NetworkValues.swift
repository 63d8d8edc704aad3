package import NetworkTypes
import RoamwardCore

extension ValueReader where Value == IPPrefix {
  package static let prefix = ValueReader("an address or prefix such as 10.0.0.0/8 or fd00::/8", schema: .definition("prefix")) {
    IPPrefix($0)
  }
  .warningOfHostBits
}

extension ValueReader where Value == [IPPrefix] {
  /// A prefix; `default` is everything of both families.
  static let destination = ValueReader("a prefix such as 10.0.0.0/8, or `default`", schema: .definition("destination")) {
    parseDestination($0)
  }.warningOfHostBits
}

extension ValueReader where Value == IPAddress {
  static let address = ValueReader("an IP address such as 192.0.2.1 or 2001:db8::1", schema: .definition("address")) { IPAddress($0) }
}

extension ValueReader where Value == InterfaceAddress {
  static let interfaceAddress = ValueReader("an address with its prefix length, such as 192.0.2.23/24", schema: .definition("prefix")) {
    InterfaceAddress($0)
  }
}

extension ValueReader where Value == MACAddress {
  static let mac = ValueReader("a MAC address such as 02:00:5e:10:00:01", schema: .string(pattern: macPattern)) { MACAddress($0) }
}

private let macPattern = "^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$"

/// The way out for a text that is no name of a domain, by its fault.
@Sendable private func domainCure(_ text: String) -> String? {
  if !text.utf8.allSatisfy({ $0 < 0x80 }) { return "write a name outside ASCII in its `xn--` form" }
  if text.contains(where: \.isWhitespace) { return "a name has no blanks; several names are a list: `[corp.example, lab.example]`" }
  for prefix in ["*.", "."] where text.hasPrefix(prefix) {
    guard let name = DomainName(String(text.dropFirst(prefix.count))) else { continue }
    return "write `\(name)`, which holds for the names below it too"
  }
  if text.contains("/") || text.contains(":") { return "write the name alone, without a scheme, a port or a path" }
  return "a name has letters, digits and hyphens, with single dots between its parts"
}

extension ValueReader where Value == DomainName {
  package static let domain = ValueReader(
    "a domain name such as corp.example", schema: .text(pattern: SchemaPattern.domainName), cure: domainCure
  ) { DomainName($0) }
}

/// A user of this machine.
let userName = ValueReader<UserName>(
  "the name of a user such as alice", schema: .text(pattern: SchemaPattern.userName),
  cure: { $0.allSatisfy(\.isNumber) ? "write the name, not the number: `id --name --user \($0)`" : nil }
) { UserName($0) }

/// A domain whose names are routed, also in its form for the names below it.
let routedDomain = ValueReader<DomainName>(
  "a domain name such as git.corp.example or *.cdn.example", schema: .text(pattern: SchemaPattern.routedDomain), cure: domainCure
) { text in
  DomainName(text.hasPrefix("*.") ? String(text.dropFirst(2)) : text)
}

extension ValueReader where Value == DomainPattern {
  static let domainPattern = ValueReader(
    "a domain name such as corp.example, or *", schema: .text(pattern: SchemaPattern.domainPattern), cure: domainCure
  ) { DomainPattern($0) }

  /// A domain as a pattern; `.` is every name too.
  static let matchDomain = ValueReader(
    "a domain name such as corp.example, or `.`", schema: .text(pattern: SchemaPattern.matchDomain), cure: domainCure
  ) { text in
    text == "." ? .any : DomainPattern(text)
  }
}

extension ValueReader where Value == DNSServerPattern {
  static let dnsServer = ValueReader("an address, a prefix, or a start such as 17.*", schema: .string(pattern: SchemaPattern.dnsServer)) {
    DNSServerPattern($0)
  }.warningOfHostBits
}

extension ValueReader where Value == SSID {
  /// Any text is valid: `no` and `0123` are names. A plain `null` gets a warning, because it is empty in JSON.
  static let ssid = ValueReader(expected: "an SSID of 1 to 32 bytes", schema: .text(pattern: SchemaPattern.ssid)) { node, reading in
    guard case .scalar(let text, let isPlain) = node.content, let ssid = SSID(text) else {
      reading.expected("an SSID of 1 to 32 bytes", at: node, help: "bytes that are not text are written as hex: and two digits each")
      return nil
    }
    if isPlain, text == "null" {
      reading.warning("this is the SSID \"null\"", help: "put it in quotes if that is meant, else remove the key", at: node.location)
    }
    return ssid
  }
}

extension ValueReader where Value == SSID {
  /// An SSID for comparison; patterns and exceptions have a different syntax.
  static let ssidCriterion = ssid.warning { text, ssid in
    guard !text.hasPrefix("hex:") else { return nil }
    let exactly = "if that is its very name, write hex:\(ssid.bytes.map(hexadecimal).joined())"
    if text.hasPrefix("!") {
      return (
        "this is the SSID \(quoted(text)), with its `!`", "for every other SSID write `not: { ssid: \(text.dropFirst()) }`; \(exactly)"
      )
    }
    if text.contains("*") {
      return ("`ssid` is no pattern: only the SSID \(quoted(text)) itself matches", "write `ssid-glob: \(text)`; \(exactly)")
    }
    return nil
  }
}

extension ValueReader where Value == IPAddress {
  /// An address that a default gateway may have.
  static let gatewayCriterion = address.warning { text, address in
    if address == .unspecified(address.family) || address.isLoopback || address.isMulticast {
      return ("no gateway has the address \(text)", "write the gateway's own address: `ip route show default` tells it")
    }
    let isNetwork = address.family == .v4 ? address.low & 0xff == 0 : address.low == 0
    guard isNetwork, let prefix = IPPrefix(address, length: address.family == .v4 ? 24 : 64) else { return nil }
    return (
      "\(text) looks like the address of a network, not of a gateway",
      "for any gateway of that network write `subnet: \(prefix)`; `ip route show default` tells the gateway's own address"
    )
  }
}

extension ValueReader where Value == Glob {
  /// A pattern for the name of the primary link.
  static let interfaceCriterion = interfaceGlob.warning { text, _ in
    guard linkNameStems.contains(text) else { return nil }
    return ("no link is called `\(text)`: the kernel's names go on with a number or a place", "for all that begin so write `\(text)*`")
  }

  static let ssidGlob = ValueReader("a pattern for SSIDs such as Corp-*", schema: .text(pattern: SchemaPattern.text)) {
    $0.isEmpty || $0.contains("\n") ? nil : Glob($0)
  }

  static let interfaceGlob = ValueReader("a link name such as eth0 or wl*", schema: .text(pattern: SchemaPattern.text)) {
    $0.isEmpty || $0.contains("\n") ? nil : Glob($0)
  }
}

/// The prefixes of link names from the kernel or udev, systemd.net-naming-scheme(7).
private let linkNameStems: Set = [
  "eth", "en", "enp", "eno", "ens", "enx", "wlan", "wl", "wlp", "wlo", "wls", "wlx", "wwan", "ww", "wwp", "wwx", "usb", "bnep", "ppp",
]

extension ValueReader {
  /// The same reader with a warning for valid text that probably means something else: the message, and the help.
  func warning(_ doubt: @escaping @Sendable (_ text: String, Value) -> (message: String, help: String)?) -> ValueReader {
    let read = self.read
    return ValueReader(expected: expected, schema: schema) { node, reading in
      let value = read(node, &reading)
      if let value, case .scalar(let text, _) = node.content, let (message, help) = doubt(text, value) {
        reading.warning(message, help: help, at: node.location)
      }
      return value
    }
  }

  /// Warns if a prefix has host bits, which are cut off. The user may have meant a single address or another length.
  fileprivate var warningOfHostBits: ValueReader {
    warning { text, _ in hostBitsWarning(text) }
  }
}

extension ValueReader where Value == String {
  static let interfaceName = ValueReader(
    "a link name of 1 to 15 characters, such as tun0", schema: .text(pattern: SchemaPattern.linkName)
  ) { InterfaceName($0)?.description }
}
