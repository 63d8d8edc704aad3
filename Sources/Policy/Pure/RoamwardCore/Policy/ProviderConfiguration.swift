package import NetworkTypes

/// The provider of the tunnel. All values were read and checked when the policy was loaded.
package enum ProviderConfiguration: Hashable, Sendable {
  case wireGuard(WireGuardProviderConfiguration)
  case command(CommandProviderConfiguration)
  case installed(InstalledProviderConfiguration)
  case service(ServiceProviderConfiguration)

  /// The key under `provider:`.
  package var name: String {
    switch self {
    case .wireGuard: "wireguard"
    case .command: "command"
    case .installed: "installed"
    case .service(let service): service.key
    }
  }

  /// The addresses of the tunnel's link; `nil`: only the provider's programs know them.
  package var ownAddresses: [InterfaceAddress]? {
    switch self {
    case .wireGuard(let provider): provider.configuration?.addresses
    case .installed(let provider): provider.settings.addresses
    case .command, .service: nil
    }
  }

  /// Whether its programs open sockets to the outside themselves, rather than the agent.
  package var opensOwnSockets: Bool {
    switch self {
    case .wireGuard: false
    case .installed(let provider): provider.program.needs.contains(.sockets) || provider.program.needs.isDisjoint(with: [.udp, .tcp])
    case .command: true
    case .service(let service): service.hasGroup
    }
  }

  /// Whether nothing but the agent leads packets into its link.
  var hasRoutesOfAgent: Bool {
    switch self {
    case .wireGuard, .installed: true
    case .command, .service: false
    }
  }

  package var isWireGuard: Bool { if case .wireGuard = self { true } else { false } }

  /// Whether its settings are in a file that the user who asks may not read. An agent never has such a provider.
  package var isUnread: Bool { if case .wireGuard(let provider) = self { provider.configuration == nil } else { false } }
}

package struct WireGuardProviderConfiguration: Hashable, Sendable {
  /// The wg-quick file, as an absolute path.
  package var path: String
  /// `nil`: the user who asks may not read the file.
  package var configuration: WireGuardQuickConfiguration?

  package init(path: String, configuration: WireGuardQuickConfiguration?) {
    self.path = path
    self.configuration = configuration
  }
}

/// Programs that start, stop and check a tunnel of any kind. Each is an argument vector; no shell is involved.
package struct CommandProviderConfiguration: Hashable, Sendable {
  /// Starts the tunnel; has to end with status 0.
  package var up: [String]
  package var down: [String]
  /// Checks the tunnel. Status 0: connected. Any other: not connected. Empty: connected as soon as `up` has ended with status 0.
  package var status: [String]
  /// The link that `up` makes, if routes and addresses are to be applied to it.
  package var interface: String?
  /// The time limit of each program, after which it is killed.
  package var timeout: Duration

  package init(up: [String], down: [String], status: [String] = [], interface: String? = nil, timeout: Duration = .seconds(30)) {
    self.up = up
    self.down = down
    self.status = status
    self.interface = interface
    self.timeout = timeout
  }
}
