package import ProviderProtocol

/// The meaning of a line of openconnect(8) for a tunnel that does not come up. Its exit code says little: it is 1 after most ends, and 0
/// after signals.
package struct OpenConnectTrouble: Equatable, Sendable {
  package let code: Word
  package let text: String
  package let help: TunnelFailure.Help
  /// Whether a new sign-in may mend it.
  package let isCookie: Bool

  var failure: TunnelFailure { TunnelFailure(code: code, text: text, help: help) }

  private init(_ code: Word, _ text: String, _ help: TunnelFailure.Help, isCookie: Bool = false) {
    self.code = code
    self.text = text
    self.help = help
    self.isCookie = isCookie
  }

  /// `nil` for lines that mean no trouble.
  package init?(_ line: String) {
    func has(_ text: String) -> Bool { line.contains(text) }
    if has("match server's certificate") || has("SSL certificate doesn't match") {
      self.init("certificate-mismatch", "the server's certificate is none that `server-certificate` names", .person)
    } else if has("certificate not activated") {
      self.init(
        "certificate-not-yet-valid", "the server's certificate is not valid yet by this machine's clock; check the clock: `timedatectl`",
        .time)
    } else if has("Server certificate verify failed: certificate expired") {
      self.init(
        "certificate-expired", "the server's certificate has expired by this machine's clock; check the clock, then the server", .time)
    } else if let pin = Self.pin(in: line) {
      self.init(
        "certificate-unknown", "no authority vouches for the server; if its certificate is \(pin), add `server-certificate: \(pin)`",
        .person)
    } else if has("Cookie was rejected") || has("Cookie is no longer valid") || has("session terminated by server") {
      self.init("session-ended", "the server has ended the session", .time, isCookie: true)
    } else if has("Login failed") || has("authentication failed") || has("Authentication failed") {
      self.init("auth-failed", "the server refused the user name or the password; correct it", .person)
    } else if has("CSD hostscan") || has("Host Checker") || has("HIP report") {
      self.init(
        "hostscan-refused", "the server wants a program of its own to run on this machine, which this provider does not do", .person)
    } else if has("No SSO handler") || has("Failed to launch browser") {
      self.init("sso-unsupported", "the server wants a sign-in in a browser, which this provider cannot show", .person)
    } else if has("Failed to connect to") || has("getaddrinfo failed") || has("Failed to open HTTPS connection") || has("TLS connection") {
      self.init("unreachable", line, .time)
    } else if has("Failed to bind local tun device") || has("Failed to open tun device") || has("TUNSETIFF failed") {
      self.init("device-unusable", line, .time)
    } else {
      return nil
    }
  }

  /// `    --servercert pin-sha256:…`
  private static func pin(in line: String) -> String? {
    let words = line.split(separator: " ")
    guard words.count == 2, words[0] == "--servercert", words[1].hasPrefix("pin-sha256:") else { return nil }
    return String(words[1])
  }
}
