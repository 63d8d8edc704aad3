import NetworkTypes
import RoamwardCore

extension ValueReader where Value == IPPrefix {
  static let prefix = ValueReader("an address or prefix such as 10.0.0.0/8 or fd00::/8") { IPPrefix($0) }
}

extension ValueReader where Value == [IPPrefix] {
  /// `default` is everything of both families.
  static let destination = ValueReader("a prefix such as 10.0.0.0/8, or `default`") { text in
    text == "default" ? IPAddress.Family.allCases.map { .everything($0) } : IPPrefix(text).map { [$0] }
  }
}

extension ValueReader where Value == IPAddress {
  static let address = ValueReader("an IP address such as 192.0.2.1 or 2001:db8::1") { IPAddress($0) }
}

extension ValueReader where Value == InterfaceAddress {
  static let interfaceAddress = ValueReader("an address with its prefix length, such as 192.0.2.23/24") { InterfaceAddress($0) }
}

extension ValueReader where Value == MACAddress {
  static let mac = ValueReader("a MAC address such as 02:00:5e:10:00:01", schema: .string(pattern: macPattern)) { MACAddress($0) }
}

private let macPattern = "^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$"

private let internationalNames = "write a name outside ASCII in its `xn--` form"

extension ValueReader where Value == DomainName {
  static let domain = ValueReader("a domain name such as corp.example", help: internationalNames) { DomainName($0) }
}

extension ValueReader where Value == DomainPattern {
  static let domainPattern = ValueReader("a domain name such as corp.example, or *", help: internationalNames) { DomainPattern($0) }

  /// As a pattern; `.` is every name too.
  static let matchDomain = ValueReader("a domain name such as corp.example, or `.`", help: internationalNames) { text in
    text == "." ? .any : DomainPattern(text)
  }
}

extension ValueReader where Value == DNSServerPattern {
  static let dnsServer = ValueReader("an address, a prefix, or a start such as 17.*") { DNSServerPattern($0) }
}

extension ValueReader where Value == SSID {
  /// Any text is itself: `no` and `0123` are names. A plain `null` gets a warning, because in JSON it means nothing.
  static let ssid = ValueReader(expected: "an SSID of 1 to 32 bytes", schema: .anyText) { node, reading in
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

extension ValueReader where Value == Glob {
  static let ssidGlob = ValueReader("a pattern for SSIDs such as Corp-*", schema: .anyText) {
    $0.isEmpty || $0.contains("\n") ? nil : Glob($0)
  }

  static let interfaceGlob = ValueReader("a link name such as eth0 or wl*") { $0.isEmpty || $0.contains("\n") ? nil : Glob($0) }
}

extension ValueReader where Value == String {
  static let interfaceName = ValueReader("a link name of 1 to 15 characters, such as tun0") { InterfaceName($0)?.description }
}
