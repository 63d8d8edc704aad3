package import NetworkTypes

/// The validation of answers by their signatures, in the words of resolved.conf(5).
package enum DNSSECMode: String, Equatable, Sendable, CaseIterable {
  /// Answers are not validated.
  case no
  /// Answers are validated unless a server seems not to support that.
  case allowDowngrade = "allow-downgrade"
  /// Answers are validated.
  case yes
}

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
  /// The validation of answers; `nil`: that of the service.
  package var dnssec: DNSSECMode?

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
      && (dnssec == nil || other.dnssec == nil || dnssec == other.dnssec)
  }
}

extension LinkResolver: CustomStringConvertible {
  /// `dns 10.0.0.53 domain ~corp.example default-route no`.
  package var description: String {
    let words = ["dns"] + servers.map(\.description) + ["domain"] + domains.map(\.description)
    let validation = dnssec.map { ["dnssec", $0.rawValue] } ?? []
    return (words + ["default-route", isDefaultRoute ? "yes" : "no"] + validation).joined(separator: " ")
  }
}

extension LinkResolver.Domain: CustomStringConvertible {
  /// The domain as resolvectl(1) takes it: `corp.example`, `~corp.example`, `~.`.
  package var description: String { (isRoutingOnly ? "~" : "") + (name?.text ?? ".") }
}
