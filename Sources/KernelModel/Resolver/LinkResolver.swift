package import NetworkTypes

/// What systemd-resolved is told about one link (org.freedesktop.resolve1(5)): which servers, for which names.
package struct LinkResolver: Hashable, Sendable {
  package struct Domain: Hashable, Sendable {
    /// `nil` is the root: every name that no other domain claims.
    package var name: DomainName?
    /// It only leads queries to the link's servers; else it is also tried for short names.
    package var isRoutingOnly: Bool

    package init(_ name: DomainName?, isRoutingOnly: Bool = false) {
      self.name = name
      self.isRoutingOnly = isRoutingOnly
    }

    /// Every name.
    package static let root = Domain(nil, isRoutingOnly: true)
  }

  package var servers: [IPAddress]
  package var domains: [Domain]
  /// Names that no link claims go to this link's servers too.
  package var isDefaultRoute: Bool
  /// Of all the servers; `nil`: the usual one.
  package var port: UInt16?

  package init(servers: [IPAddress] = [], domains: [Domain] = [], isDefaultRoute: Bool = false, port: UInt16? = nil) {
    self.servers = servers
    self.domains = domains
    self.isDefaultRoute = isDefaultRoute
    self.port = port
  }

  /// Nothing was ever set, or all of it was taken back.
  package var isEmpty: Bool { servers.isEmpty && domains.isEmpty }

  /// Whether what the resolver shows is what was asked for; the order of domains means nothing to it.
  package func isSame(as other: LinkResolver) -> Bool {
    servers == other.servers && Set(domains) == Set(other.domains) && isDefaultRoute == other.isDefaultRoute
  }
}

extension LinkResolver: CustomStringConvertible {
  /// `dns 10.0.0.53 domain ~corp.example default-route no`.
  package var description: String {
    let words = ["dns"] + servers.map(\.description) + ["domain"] + domains.map(\.description)
    return (words + ["default-route", isDefaultRoute ? "yes" : "no"]).joined(separator: " ")
  }
}

extension LinkResolver.Domain: CustomStringConvertible {
  /// As resolvectl(1) takes it: `corp.example`, `~corp.example`, `~.`.
  package var description: String { (isRoutingOnly ? "~" : "") + (name?.text ?? ".") }
}
