package import JSON
package import NetworkTypes

/// A tunnel of an installed provider: a program that speaks the provider protocol (docs/provider-protocol.md).
package struct InstalledProviderConfiguration: Hashable, Sendable {
  package var program: ProviderProgram
  /// The tunnel's options: a JSON object that fits the manifest's schema, with defaults filled in.
  package var options: JSON
  /// The files with secrets, by the names under which the provider gets them; in the order of the names.
  package var credentials: [ProviderCredential]
  /// The settings that the provider may bring.
  package var allowance: SettingsAllowance
  /// The web servers, beside the one of its page, that a window for a sign-in opens; in the order of the policy.
  package var signInHosts: [Endpoint]
  /// The options that one start may set.
  package var startable = StartableOptions()
  /// The settings that the provider has brought and that are allowed; a policy file never has them.
  package var settings = BroughtSettings()

  package init(
    program: ProviderProgram, options: JSON = [:], credentials: [ProviderCredential] = [], allowance: SettingsAllowance = .everything,
    signInHosts: [Endpoint] = []
  ) {
    self.program = program
    self.options = options
    self.credentials = credentials
    self.allowance = allowance
    self.signInHosts = signInHosts
  }

  /// The configuration that a run of its program depends on: without the settings that it has brought, the hosts of a
  /// sign-in, and the options that a start may set.
  package var asStarted: InstalledProviderConfiguration {
    var same = self
    (same.settings, same.signInHosts, same.startable) = (BroughtSettings(), [], StartableOptions())
    return same
  }

  /// The most hosts of a sign-in.
  package static let signInHostLimit = 32
}

extension TunnelPolicy {
  /// The web servers, beside the one of its provider's page, that a window for a sign-in opens.
  package var signInHosts: [Endpoint] { if case .installed(let provider) = provider { provider.signInHosts } else { [] } }
}

/// A provider's program, as its manifest describes it.
package struct ProviderProgram: Hashable, Sendable {
  /// A kind of request of a provider. The agent refuses those that its manifest does not name.
  package enum Need: String, Equatable, Sendable, CaseIterable {
    /// The TUN device.
    case device
    /// The XFRM interface, in place of the TUN device.
    case xfrm
    /// UDP sockets to the outside.
    case udp
    /// TCP sockets to the outside.
    case tcp
    /// Sockets to the outside that it opens itself, beside those of the agent; without `udp` and `tcp` it opens all itself.
    case sockets
    /// Addresses of names, outside.
    case resolve
    /// Questions to a person.
    case ask
  }

  /// A capability of a program that cannot do without it, as in capabilities(7). It is named in `status` and docs/security-processes.md.
  package enum Capability: String, Equatable, Sendable, CaseIterable {
    /// CAP_NET_ADMIN: it configures links and IPsec itself.
    case netAdmin = "net-admin"
    /// CAP_NET_RAW: it opens raw sockets.
    case netRaw = "net-raw"
    /// CAP_NET_BIND_SERVICE: it uses ports below 1024.
    case netBindService = "net-bind-service"
  }

  /// The manifest's name, or its path: as the policy names it.
  package var name: String
  /// An absolute path.
  package var path: String
  /// The user that it runs as, never root.
  package var user: String
  package var needs: Set<Need>
  package var capability: Capability?
  /// Whether a policy has to say `insecure: accept`.
  package var isInsecure: Bool

  package init(
    name: String, path: String, user: String, needs: Set<Need> = [], capability: Capability? = nil, isInsecure: Bool = false
  ) {
    self.name = name
    self.path = path
    self.user = user
    self.needs = needs
    self.capability = capability
    self.isInsecure = isInsecure
  }
}

/// A secret of a provider, by the file that has it. The file is read when the tunnel starts.
package struct ProviderCredential: Hashable, Sendable {
  /// The name in the protocol: `password`.
  package var name: String
  /// An absolute path.
  package var path: String

  package init(name: String, path: String) {
    self.name = name
    self.path = path
  }
}

/// The settings that a provider may bring for a tunnel. What the policy itself says (`routes`, `dns`, `mtu`) always comes first.
package struct SettingsAllowance: Hashable, Sendable {
  /// Prefixes of which parts may go into the tunnel.
  package var routes: [IPPrefix]
  /// Domains whose names the provider's servers may resolve; with `any`, also every name.
  package var domains: [DomainPattern]

  package init(routes: [IPPrefix], domains: [DomainPattern]) {
    self.routes = routes
    self.domains = domains
  }

  package static let everything = SettingsAllowance(routes: [.everything(.v4), .everything(.v6)], domains: [.any])
}

/// The settings that a provider has brought for its tunnel, and that the policy allows.
package struct BroughtSettings: Hashable, Sendable {
  package var addresses: [InterfaceAddress] = []
  package var included: [IPPrefix] = []
  package var excluded: [IPPrefix] = []
  package var mtu: MTUPolicy?
  package var dns: DNSPolicy?
  /// The addresses outside to which the agent has connected sockets for it.
  package var gateways: [IPAddress] = []
  /// The prefixes included last, also by an earlier run: the kill switch blocks them until the next run brings its own. `nil`: not known.
  package var lastIncluded: [IPPrefix]?

  package init() {}

  /// Whether this run has brought nothing.
  package var isEmpty: Bool {
    var fresh = BroughtSettings()
    fresh.lastIncluded = lastIncluded
    return self == fresh
  }
}
