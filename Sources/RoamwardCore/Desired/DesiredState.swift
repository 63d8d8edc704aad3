package import KernelModel
import KeyMemory
package import NetworkTypes

/// What there ought to be: every object of ours, and nothing of anybody else's.
package struct DesiredState: Hashable, Sendable {
  package var links: [DesiredLink]
  package var routes: [Route]
  package var rules: [RoutingRule]
  /// `nil`: leave resolv.conf alone, or give it back.
  package var resolvConf: ResolvConf?
  /// What systemd-resolved is to know of our links, by their names.
  package var resolvedLinks: [String: LinkResolver] = [:]
  /// What resolvconf(8) is to know.
  package var record: ResolverRecord?
  /// The tunnel whose servers `resolvConf` or `record` names.
  package var listOwner: String?
  package var firewall = DesiredFirewall.open
  /// What a policy asks for and this host cannot give, for people.
  package var notes: [Remark]
  /// Tunnels that may not come up on this underlay, and why.
  package var refusals: [String: String] = [:]

  package init(
    links: [DesiredLink] = [], routes: [Route] = [], rules: [RoutingRule] = [], resolvConf: ResolvConf? = nil, notes: [Remark] = []
  ) {
    self.links = links
    self.routes = routes
    self.rules = rules
    self.resolvConf = resolvConf
    self.notes = notes
  }
}

/// What there ought to be of our firewall table.
package enum DesiredFirewall: Hashable, Sendable {
  /// None.
  case open
  case table(FirewallTable)
  /// Whatever there is: nobody knows yet what is wanted, and what an earlier agent holds back stays held back.
  case asItIs
}

/// A tunnel's link with its settings.
package struct DesiredLink: Hashable, Sendable {
  package enum Device: Hashable, Sendable {
    case wireGuard(WireGuardDevice)
    /// Made and removed by somebody else (a command): only settings are ours.
    case foreign
    /// Nothing is behind it.
    case dummy
  }

  package var name: String
  package var tunnel: String
  package var device: Device
  package var mtu: UInt32?
  package var addresses: [InterfaceAddress]
  /// Peers of a WireGuard device that is there get new sessions.
  package var renewsSessions = false

  package init(name: String, tunnel: String, device: Device, mtu: UInt32? = nil, addresses: [InterfaceAddress] = []) {
    self.name = name
    self.tunnel = tunnel
    self.device = device
    self.mtu = mtu
    self.addresses = addresses
  }
}

extension DesiredLink {
  /// The step that makes it; `nil`: somebody else does.
  package var creation: Step? {
    switch device {
    case .wireGuard(let device): .addWireGuardLink(name, device.engine)
    case .dummy: .addDummyLink(name)
    case .foreign: nil
    }
  }
}
