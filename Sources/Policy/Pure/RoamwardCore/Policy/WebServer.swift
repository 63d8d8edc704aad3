package import NetworkTypes

/// Web servers as people write them: a name or an address, with a port or without one.
extension Endpoint {
  /// The port of a web server that is written without one: that of `https`.
  private static let webPort: UInt16 = 443

  /// Parses `login.example.com`, `login.example.com:8443`, `192.0.2.1`, `2001:db8::1` or `[2001:db8::1]:8443`. Patterns are none: a window
  /// of a kill switch opens addresses.
  package static func webServer(_ text: String) -> Endpoint? {
    if let address = IPAddress(text) { return Endpoint(host: .address(address), port: webPort) }
    return Endpoint("\(text):\(webPort)") ?? Endpoint(text)
  }

  /// The shortest form that `webServer(_:)` parses.
  package var webServerText: String { port == Self.webPort ? host.description : description }
}
