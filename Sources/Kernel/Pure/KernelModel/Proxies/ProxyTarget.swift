import NetworkTypes

/// The parts of a URL that decide its proxy.
package struct ProxyTarget: Hashable, Sendable {
  package let url: String
  /// In lower case.
  package let scheme: String
  /// A name or an address, without brackets.
  package let host: String

  /// `nil`: it is no URL with a host, or has a user name or a password.
  package init?(_ url: String) {
    guard let slashes = url.firstRange(of: "://"), url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
    let scheme = url[..<slashes.lowerBound].lowercased()
    guard !scheme.isEmpty, scheme.utf8.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) || [43, 45, 46].contains($0) })
    else { return nil }
    let authority = String(url[slashes.upperBound...].prefix { !"/?#".contains($0) })
    guard !authority.contains("@") else { return nil }
    let isLiteral = authority.hasPrefix("[")
    let host = isLiteral ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
    let rest = authority.dropFirst(host.count + (isLiteral ? 2 : 0))
    guard rest.isEmpty || rest.hasPrefix(":") && rest.dropFirst().utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    let isAddress = IPAddress(String(host)).map { ($0.family == .v6) == isLiteral }
    guard isAddress ?? (!isLiteral && DomainName(String(host)) != nil) else { return nil }
    self.url = url
    self.scheme = scheme
    self.host = host.lowercased()
  }
}
