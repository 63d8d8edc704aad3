/// The program that sets a tunnel's addresses, routes, name servers and kill switch.
package enum ProviderClass: String, Hashable, Sendable, CaseIterable {
  /// The agent: the provider brings packets alone.
  case owned
  /// The provider's programs, or another service: the agent starts, watches and stops it, and adds what the policy says.
  case foreign
}

extension ProviderConfiguration {
  package var providerClass: ProviderClass {
    switch self {
    case .wireGuard, .installed: .owned
    case .command, .service: .foreign
    }
  }

  /// Kind and name, for people: `installed openvpn`, `unit work.service`.
  package var title: String {
    switch self {
    case .wireGuard(let provider): "\(name) \(provider.path)"
    case .command(let provider): "\(name) \(provider.up.first ?? "")"
    case .installed(let provider): "\(name) \(provider.program.name)"
    case .service(let service):
      switch service.service {
      case .unit(let unit): "\(name) \(unit)"
      case .profile(let profile): "\(name) \(profile)"
      case .tailscale(let exitNode): exitNode.map { "\(name) with the exit node \($0)" } ?? name
      }
    }
  }

  /// A sentence part that says which program sets the tunnel's network settings, for people.
  package var responsibility: String {
    switch self {
    case .wireGuard, .installed: "Roamward sets its addresses, routes, name servers and kill switch"
    case .command(let provider):
      provider.interface.map { "its programs set up the tunnel; Roamward applies the policy to \($0)" } ?? "its programs set up all of it"
    case .service(let service):
      service.limitation ?? "its unit sets up the tunnel; Roamward applies the policy to \(service.interface ?? "its link")"
    }
  }

  /// The action when the tunnel starts or stops, besides the steps of a plan, for people; `nil`: none.
  package func action(starts: Bool) -> String? {
    switch self {
    case .wireGuard: return nil
    case .command(let provider):
      let words = (starts ? provider.up : provider.down).joined(separator: " ")
      return words.isEmpty ? nil : "runs `\(words)`, whose changes are not known here"
    case .installed(let provider):
      let program = provider.program
      guard starts else { return "asks \(program.path) to disconnect, and ends it" }
      return "starts \(program.path) as the user \(program.user); the settings that it brings become further steps"
    case .service(let service):
      let (who, verb): (String, String) =
        switch service.service {
        case .unit(let unit): ("systemd", starts ? "start \(unit)" : "stop \(unit)")
        case .profile(let profile): ("NetworkManager", "\(starts ? "activate" : "deactivate") the profile \(profile)")
        case .tailscale(let exitNode):
          ("tailscaled", starts ? exitNode.map { "connect, with the exit node \($0)" } ?? "connect" : "disconnect")
        }
      return "asks \(who) to \(verb); what that changes is not known here"
    }
  }
}
