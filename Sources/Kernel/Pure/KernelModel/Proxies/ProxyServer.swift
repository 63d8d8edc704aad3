package import NetworkTypes

/// A web proxy: its host and port, and whether programs speak TLS with it.
package struct ProxyServer: Hashable, Sendable {
  package var endpoint: Endpoint
  /// Whether the connection to the proxy itself is encrypted (`https://`).
  package var isSecure = false

  package init(_ endpoint: Endpoint, isSecure: Bool = false) {
    self.endpoint = endpoint
    self.isSecure = isSecure
  }

  /// As the result of a proxy auto-configuration script names it.
  package var directive: String { (isSecure ? "HTTPS " : "PROXY ") + endpoint.description }
}

extension ProxyServer: LosslessStringConvertible {
  /// Parses `10.0.0.80:3128`, or a URL without a user, such as `http://proxy.corp.example:3128/`.
  package init?(_ text: String) {
    guard let slashes = text.firstRange(of: "://") else {
      guard let endpoint = Endpoint(text) else { return nil }
      self.init(endpoint)
      return
    }
    let scheme = text[..<slashes.lowerBound]
    let authority = String(text[slashes.upperBound...].prefix { $0 != "/" && $0 != "?" })
    guard scheme == "http" || scheme == "https", !authority.contains("@") else { return nil }
    let port = scheme == "https" ? 443 : 80
    guard let endpoint = Endpoint(authority) ?? Endpoint("\(authority):\(port)") else { return nil }
    self.init(endpoint, isSecure: scheme == "https")
  }

  /// A URL, as variables of the environment have it.
  package var description: String { "\(isSecure ? "https" : "http")://\(endpoint)" }
}
