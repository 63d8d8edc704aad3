package import NetworkTypes

/// Hosts that are reached without a proxy.
package enum ProxyException: Hashable, Sendable {
  /// Every host.
  case everything
  /// A domain; its names, and unless `isBelow`, itself.
  case domain(DomainName, isBelow: Bool)
  /// Addresses, where a URL has an address in the place of a name. No name is looked up for it.
  case prefix(IPPrefix)
}

extension ProxyException: LosslessStringConvertible {
  /// Parses `corp.example`, `*.corp.example`, `*`, `10.0.0.0/8` or `192.0.2.1`.
  package init?(_ text: String) {
    if text == "*" {
      self = .everything
    } else if let prefix = IPPrefix(text) {
      self = .prefix(prefix)
    } else if let domain = DomainName(text.hasPrefix("*.") ? String(text.dropFirst(2)) : text) {
      self = .domain(domain, isBelow: text.hasPrefix("*."))
    } else {
      return nil
    }
  }

  /// As a policy writes it.
  package var description: String {
    switch self {
    case .everything: "*"
    case .domain(let domain, let isBelow): isBelow ? "*.\(domain)" : domain.text
    case .prefix(let prefix): prefix.isHost ? "\(prefix.address)" : "\(prefix)"
    }
  }

  /// As the variable `no_proxy` has it: there a domain includes its names.
  var word: String { if case .domain(let domain, isBelow: true) = self { ".\(domain)" } else { description } }
}

extension IPPrefix {
  fileprivate var isHost: Bool { length == family.bitWidth }
}

/// Which proxy programs use for which URL, as a policy says it.
package struct ProxyRules: Hashable, Sendable {
  package var http: ProxyServer?
  package var https: ProxyServer?
  package var exclude: [ProxyException]
  /// Whether names without a dot are reached without a proxy.
  package var excludesSimpleNames: Bool

  package init(http: ProxyServer? = nil, https: ProxyServer? = nil, exclude: [ProxyException] = [], excludesSimpleNames: Bool = false) {
    self.http = http
    self.https = https
    self.exclude = exclude
    self.excludesSimpleNames = excludesSimpleNames
  }

  /// This machine itself is never reached by a proxy.
  static let ownHosts: [ProxyException] = ["localhost", "127.0.0.0/8", "::1"].compactMap { ProxyException($0) }

  /// The choice for a URL with this scheme and host, which has no brackets.
  package func choice(scheme: String, host: String) -> ProxyChoice {
    let address = IPAddress(host)
    let name = address == nil ? DomainName(host) : nil
    func isMet(_ exception: ProxyException) -> Bool {
      switch exception {
      case .everything: true
      case .prefix(let prefix): address.map { prefix.contains($0) } ?? false
      case .domain(let domain, let isBelow): name.map { $0.isWithin(domain) && !(isBelow && $0 == domain) } ?? false
      }
    }
    if Self.ownHosts.contains(where: isMet) { return .direct(reason: "\(host) is this machine") }
    if let exception = exclude.first(where: isMet) { return .direct(reason: "`exclude` has \(exception)") }
    if excludesSimpleNames, let name, !name.text.contains(".") {
      return .direct(reason: "\(name) has no dot (`exclude-simple-names`)")
    }
    let server =
      switch scheme {
      case "http", "ws": http
      case "https", "wss": https
      default: ProxyServer?.none
      }
    guard let server else { return .direct(reason: "the policy has no proxy for \(scheme)") }
    return .proxy(server, reason: "the policy's proxy for \(scheme)")
  }

  /// Variables for programs that read no script, each `NAME=value`. The variable for http has lower case only: a web server would take
  /// `HTTP_PROXY` from a request's `Proxy` header.
  package var environment: [String] {
    var variables: [String] = []
    if let http { variables.append("http_proxy=\(http)") }
    if let https { variables += ["https_proxy=\(https)", "HTTPS_PROXY=\(https)"] }
    let words = exclude.contains(.everything) ? "*" : (Self.ownHosts + exclude).map(\.word).joined(separator: ",")
    return variables + ["no_proxy=\(words)", "NO_PROXY=\(words)"]
  }

  /// The names of all variables that `environment` may have.
  package static let variables = ["http_proxy", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"]
}

extension ProxyRules: CustomStringConvertible {
  /// `http 10.0.0.80:3128, https 10.0.0.80:3128, except corp.example`.
  package var description: String {
    let servers = [("http", http), ("https", https)].compactMap { scheme, server in server.map { "\(scheme) by \($0)" } }
    let excluded = exclude.map(\.description) + (excludesSimpleNames ? ["simple names"] : [])
    return (servers + (excluded.isEmpty ? [] : ["not " + excluded.joined(separator: " ")])).joined(separator: ", ")
  }
}

/// The result of rules for one URL.
package enum ProxyChoice: Hashable, Sendable {
  /// No proxy.
  case direct(reason: String)
  case proxy(ProxyServer, reason: String)
}
