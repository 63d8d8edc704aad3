package import NetworkTypes

/// The settings of one link in systemd-resolved (org.freedesktop.resolve1(5)): servers, and the names that they resolve.
package struct LinkResolver: Hashable, Sendable {
  package struct Domain: Hashable, Sendable {
    /// The domain; `nil` is the root: every name that no other domain claims.
    package var name: DomainName?
    /// Whether it only routes queries to the link's servers; else it is also a search domain for short names.
    package var isRoutingOnly: Bool

    package init(_ name: DomainName?, isRoutingOnly: Bool = false) {
      self.name = name
      self.isRoutingOnly = isRoutingOnly
    }

    /// The domain of every name.
    package static let root = Domain(nil, isRoutingOnly: true)
  }

  package var servers: [IPAddress]
  package var domains: [Domain]
  /// Whether names that no link claims go to this link's servers too.
  package var isDefaultRoute: Bool
  /// The port of all the servers; `nil`: the default.
  package var port: UInt16?

  package init(servers: [IPAddress] = [], domains: [Domain] = [], isDefaultRoute: Bool = false, port: UInt16? = nil) {
    // systemd-resolved keeps each server once.
    self.servers = servers.uniqued()
    self.domains = domains
    self.isDefaultRoute = isDefaultRoute
    self.port = port
  }

  /// Whether nothing was ever set, or everything was reverted.
  package var isEmpty: Bool { servers.isEmpty && domains.isEmpty }

  /// Whether the settings that the resolver reports are the requested ones; it ignores the order of domains.
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
  /// The domain as resolvectl(1) takes it: `corp.example`, `~corp.example`, `~.`.
  package var description: String { (isRoutingOnly ? "~" : "") + (name?.text ?? ".") }
}
