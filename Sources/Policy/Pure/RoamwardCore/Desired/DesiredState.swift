package import KernelModel
package import NetworkTypes

/// The desired state: every object of ours, and no object of other programs.
package struct DesiredState: Equatable, Sendable {
  package var links: [DesiredLink]
  package var routes: [Route]
  package var rules: [RoutingRule]
  /// The wanted resolv.conf; `nil`: leave the file alone, or restore it.
  package var resolvConf: ResolvConf?
  /// The wanted settings of our links in systemd-resolved, by link name.
  package var resolvedLinks: [String: LinkResolver] = [:]
  /// The wanted record with resolvconf(8).
  package var record: ResolverRecord?
  /// The wanted settings of our own name server; `nil`: it is not needed. `resolvConf`, `record` or
  /// `nameCapture` leads to it.
  package var nameServer: NameServerSettings?
  /// The wanted redirection of DNS questions to our own name server; `nil`: none.
  package var nameCapture: NameCapture? { nameServer?.capture }
  /// Whether the redirection of an earlier agent stays: no decision exists yet.
  package var keepsNameCapture = false
  /// The wanted script at the address of proxies; `nil`: none is served, and no program has the address.
  package var proxies: ProxyPublication?
  /// The tunnel whose servers `resolvConf` or `record` names.
  package var listOwner: String?
  package var firewall = DesiredFirewall.open
  /// Requests of policies that this host cannot fulfil, for people.
  package var notes: [Remark]
  /// Consequences of the desired state that people should know, and that are no problems.
  package var remarks: [Remark] = []
  /// Tunnels that may not start on this underlay, with the reason.
  package var refusals: [String: TunnelFailure] = [:]

  package init(
    links: [DesiredLink] = [], routes: [Route] = [], rules: [RoutingRule] = [], resolvConf: ResolvConf? = nil, notes: [Remark] = []
  ) {
    (self.links, self.routes, self.rules) = (links, routes, rules)
    self.resolvConf = resolvConf
    self.notes = notes
  }
}

/// The desired state of our firewall table.
package enum DesiredFirewall: Equatable, Sendable {
  /// No table.
  case open
  case table(FirewallTable)
  /// The table that exists, if any, unchanged: no decision exists yet, and the kill switch of an earlier agent keeps blocking.
  case asItIs
}

/// A tunnel's link with its settings.
package struct DesiredLink: Hashable, Sendable {
  package enum Device: Hashable, Sendable {
    case wireGuard(WireGuardDevice)
    /// A link that another program (a command) makes and removes: only settings are ours.
    case foreign
    /// A TUN device, whose packets a program of this user reads and writes.
    case tun(user: String)
    /// An XFRM interface: the kernel's IPsec carries its packets, by states of this identifier.
    case xfrm(identifier: UInt32)
    /// A dummy link, which leads nowhere.
    case dummy
  }

  package var name: String
  package var tunnel: String
  package var device: Device
  package var mtu: UInt32?
  package var addresses: [InterfaceAddress]
  /// Whether peers of an existing WireGuard device get new sessions.
  package var renewsSessions = false

  package init(name: String, tunnel: String, device: Device, mtu: UInt32? = nil, addresses: [InterfaceAddress] = []) {
    self.name = name
    self.tunnel = tunnel
    self.device = device
    self.mtu = mtu
    self.addresses = addresses.asKernelKeeps
  }
}

extension [InterfaceAddress] {
  /// The addresses as the kernel reports them after they were set: each once, and in IPv6 each with the first of its lengths.
  fileprivate var asKernelKeeps: [InterfaceAddress] {
    var lengths: [IPAddress: Int] = [:]
    return uniqued().filter { address in
      guard address.address.family == .v6 else { return true }
      if lengths[address.address] == nil { lengths[address.address] = address.prefixLength }
      return lengths[address.address] == address.prefixLength
    }
  }
}

extension DesiredLink {
  /// The step that makes the link; `nil`: another program makes it.
  package var creation: Step? {
    switch device {
    case .wireGuard(let device): .addWireGuardLink(name, device.engine)
    case .tun(let user): .addTUNLink(name, user: user)
    case .xfrm(let identifier): .addXFRMLink(name, identifier: identifier)
    case .dummy: .addDummyLink(name)
    case .foreign: nil
    }
  }
}
