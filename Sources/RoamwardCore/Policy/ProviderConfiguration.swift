/// What builds the tunnel. Everything here was read and checked when the policy was loaded.
package enum ProviderConfiguration: Hashable, Sendable {
  case wireGuard(WireGuardProviderConfiguration)
  case command(CommandProviderConfiguration)

  /// The key under `provider:`.
  package var name: String {
    switch self {
    case .wireGuard: "wireguard"
    case .command: "command"
    }
  }
}

package struct WireGuardProviderConfiguration: Hashable, Sendable {
  /// The wg-quick file, as an absolute path.
  package var path: String
  package var configuration: WireGuardQuickConfiguration

  package init(path: String, configuration: WireGuardQuickConfiguration) {
    self.path = path
    self.configuration = configuration
  }
}

/// Programs that bring up, take down and judge a tunnel of any kind. Each is an argument vector; there is no shell in between.
package struct CommandProviderConfiguration: Hashable, Sendable {
  /// Has to end with status 0 once the tunnel has been started.
  package var up: [String]
  package var down: [String]
  /// Status 0: connected. Any other: not connected. Empty: connected as soon as `up` has ended well.
  package var status: [String]
  /// The link that `up` makes, where routes and addresses are to be applied to it.
  package var interface: String?
  /// How long each program may take before it is killed.
  package var timeout: Duration

  package init(up: [String], down: [String], status: [String] = [], interface: String? = nil, timeout: Duration = .seconds(30)) {
    self.up = up
    self.down = down
    self.status = status
    self.interface = interface
    self.timeout = timeout
  }
}
