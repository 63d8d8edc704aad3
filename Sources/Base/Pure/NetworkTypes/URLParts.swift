/// The host of an http or https URL.
package enum URLHost: Hashable, Sendable {
  case name(DomainName)
  case address(IPAddress)

  package init?(_ url: String) {
    guard let parts = URLParts(url) else { return nil }
    self = parts.host
  }

  private init?(text: Substring) {
    if text.first == "[" {
      guard let address = IPAddress(String(text.dropFirst().prefix { $0 != "]" })) else { return nil }
      self = .address(address)
      return
    }
    let host = String(text.prefix { $0 != ":" })
    if let address = IPAddress(host) {
      self = .address(address)
    } else if let name = DomainName(host) {
      self = .name(name)
    } else {
      return nil
    }
  }

  fileprivate static func read(_ text: Substring) -> URLHost? { URLHost(text: text) }
}

/// The parts of an http or https URL. Credentials before the host are ignored, and never sent.
package struct URLParts: Hashable, Sendable {
  package let isSecure: Bool
  package let host: URLHost
  package let port: UInt16
  /// The path from the first slash on; fragments are not part of a request.
  package let path: String

  package init?(_ url: String) {
    let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[1].isEmpty, parts[0] == "http:" || parts[0] == "https:" else { return nil }
    isSecure = parts[0] == "https:"
    let authority = parts[2].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let place = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
    guard let host = URLHost.read(place) else { return nil }
    self.host = host
    let behind = place.first == "[" ? place.drop { $0 != "]" }.dropFirst() : place.drop { $0 != ":" }
    if behind.isEmpty {
      port = isSecure ? 443 : 80
    } else {
      guard behind.first == ":", let port = UInt16(behind.dropFirst()), port > 0 else { return nil }
      self.port = port
    }
    let path = parts[2].dropFirst(authority.count).prefix { $0 != "#" }
    self.path = path.first == "/" ? String(path) : "/\(path)"
  }

  /// The URL in a canonical form: no trailing dot, the port always present.
  package var url: String { "\(isSecure ? "https" : "http")://\(hostText):\(port)\(path)" }

  package var hostText: String {
    switch host {
    case .name(let name): name.text
    case .address(let address): address.family == .v6 ? "[\(address)]" : address.description
    }
  }
}
