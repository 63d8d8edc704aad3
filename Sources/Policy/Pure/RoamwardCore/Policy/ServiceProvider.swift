package import NetworkTypes

/// A tunnel that another service of this machine sets up by itself: the agent starts, watches and stops it (docs/decisions/0039).
package struct ServiceProviderConfiguration: Hashable, Sendable {
  package enum Service: Hashable, Sendable {
    /// A unit of systemd, with its suffix.
    case unit(String)
    /// A profile of NetworkManager, by its name or its UUID.
    case profile(String)
    /// Tailscale, with this exit node; `nil`: the node stays as it is.
    case tailscale(exitNode: IPAddress?)

    /// Its name for people.
    package var name: String {
      switch self {
      case .unit(let name), .profile(let name): name
      case .tailscale: "tailscale"
      }
    }
  }

  package var service: Service
  /// The link that a unit makes, if routes and addresses are to be applied to it.
  package var interface: String?

  package init(_ service: Service, interface: String? = nil) {
    self.service = service
    self.interface = interface
  }

  /// The key under `provider:`.
  package var key: String {
    switch service {
    case .unit: "unit"
    case .profile: "networkmanager"
    case .tailscale: "tailscale"
    }
  }

  /// Whether it runs in a control group of ours, where its sockets are marked: a unit with processes. A target has none.
  package var hasGroup: Bool { if case .unit(let name) = service { name.hasSuffix(".service") } else { false } }

  /// The unit that a command of `stopCommand` stops; `nil`: it is another command.
  package init?(stoppedBy command: CommandProviderConfiguration) {
    guard let name = command.down.last else { return nil }
    self.init(.unit(name))
    guard hasGroup, command.down == stopCommand.down else { return nil }
  }

  /// Stops the service without the agent that started it: what the next one runs, or a clean-up.
  package var stopCommand: CommandProviderConfiguration {
    let program: [String] =
      switch service {
      case .unit(let name): ["/usr/bin/systemctl", "--no-ask-password", "stop", name]
      case .profile(let name): ["/usr/bin/nmcli", "connection", "down", name]
      case .tailscale: ["/usr/bin/tailscale", "down"]
      }
    return CommandProviderConfiguration(up: ["/bin/true"], down: program)
  }

  /// The settings that the service makes by itself, so that the policy cannot, for people; `nil`: none.
  package var limitation: String? {
    switch service {
    case .unit(let name) where !hasGroup: "\(name) is no service: the packets of the tunnel have no mark"
    case .unit(let name): interface == nil ? "\(name) sets addresses, routes and name servers by itself" : nil
    case .profile(let name): "NetworkManager sets the addresses, routes and name servers of \(name) by itself"
    case .tailscale: "tailscaled sets its addresses, routes, marks and name servers by itself"
    }
  }
}
