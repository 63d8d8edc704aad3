import KernelModel
package import NetworkTypes

/// An answer for a name, as the program that asked gets it.
package struct NameAnswer: Equatable, Sendable {
  /// The answerer.
  package enum Source: Hashable, Sendable {
    /// The server that the program asked.
    case server(IPAddress)
    /// A server of this link, which systemd-resolved asked.
    case link(String)
    /// A cache, or /etc/hosts.
    case machine
  }

  package var addresses: [IPAddress]
  package var by: Source

  package init(addresses: [IPAddress], by: Source = .machine) {
    self.addresses = addresses
    self.by = by
  }
}

extension DesiredState {
  /// Describes an answer with the servers on its way, and whether the desired state has another way.
  ///
  /// - Parameters:
  ///   - time: the time until the answer.
  ///   - fate: the name's fate under this desired state.
  ///   - network: the underlay.
  ///   - observed: whether questions are captured now.
  package func lines(
    of answer: NameAnswer, after time: Duration, for fate: NameFate, on network: NetworkSnapshot, by choice: ResolverChoice,
    in observed: ObservedState
  ) -> [String] {
    let addresses = answer.addresses.map(\.description).joined(separator: ", ")
    let way = self.way(of: answer.by, for: fate, on: network, by: choice, in: observed)
    var lines = ["answered by \(way.text) in \(text(for: time)): \(addresses)"]
    let other = fate.refusal == nil ? "use another server" : "refuse the name"
    if !way.isPlanned { lines.append("the plan would \(other): its DNS settings are not active now") }
    return lines
  }

  private func way(
    of source: NameAnswer.Source, for fate: NameFate, on network: NetworkSnapshot, by choice: ResolverChoice, in observed: ObservedState
  ) -> (text: String, isPlanned: Bool) {
    if source == .machine { return ("\(source)", true) }
    if let address = source.ownServer {
      let own = NameServerSettings.label(of: address)
      // The program sees no further; behind our own name server the servers are those of the plan.
      guard fate.ownServer == address, fate.refusal == nil else { return (own, false) }
      let servers = fate.askees.map(\.text).joined(separator: ", ")
      let isFirst = fate.starts != nil && fate.askees.allSatisfy { $0.tunnel == nil }
      return (servers.isEmpty ? own : "\(own), which asks \(servers)\(isFirst ? " first" : ""),", true)
    }
    let askee = fate.askees.first { $0.isAsked(by: source) }
    let text = askee?.tunnel.map { "\(source) (\($0))" } ?? "\(source)"
    // systemd-resolved has the tunnels' servers beside our own name server.
    let isBeside = if case .link = source { choice.asksResolvedToo } else { false }
    let isPlanned = askee != nil && (fate.ownServer == nil || isBeside)
    guard (source.server.map { [$0] } ?? askee?.servers ?? []).contains(where: { isCaptured($0, in: observed) }) else {
      return (text, isPlanned)
    }
    let capture = "roamward-names (`names: capture`)"
    let inside = capturedFate(of: fate.name, on: network)?.askees ?? []
    guard !inside.isEmpty, !inside.contains(where: { $0.isAsked(by: source) }) else {
      return ("\(text) through \(capture)", isPlanned)
    }
    return ("\(capture), which asks \(inside.map(\.text).joined(separator: ", ")) in place of \(source),", true)
  }

  /// Whether a question of a program of this machine to the server is redirected to our own name server now.
  private func isCaptured(_ server: IPAddress, in observed: ObservedState) -> Bool {
    guard let capture = nameCapture, case .table = observed.nameCapture else { return false }
    let isHere = server.isLoopback || observed.kernel.addresses.contains { $0.address.address == server }
    let isGuest = capture.guests.contains { guest in guest.prefixes.contains { $0.contains(server) } }
    let isInside = routes.contains { route in
      route.destination.contains(server) && route.link.map { capture.tunnelLinks.contains($0) } ?? false
    }
    return !isHere && !isGuest && !(isInside && IPPrefix.host(server).isArmable)
  }
}

extension NameAnswer.Source {
  /// The address of our own name server, if it is the answerer.
  fileprivate var ownServer: IPAddress? {
    switch self {
    case .server(NameServerSettings.address): NameServerSettings.address
    case .link(Ownership.refusalLink): NameServerSettings.addressOnLink
    case .server, .link, .machine: nil
    }
  }

  fileprivate var server: IPAddress? { if case .server(let server) = self { server } else { nil } }
}

extension NameFate.Askee {
  /// `10.0.0.53 (corp)`.
  fileprivate var text: String {
    let servers = self.servers.isEmpty ? "unknown servers" : self.servers.map(\.description).joined(separator: ", ")
    return servers + (tunnel.map { " (\($0))" } ?? "")
  }

  fileprivate func isAsked(by source: NameAnswer.Source) -> Bool {
    switch source {
    case .server(let server): servers.contains(server)
    case .link(let link): self.link == link
    case .machine: false
    }
  }
}

extension NameAnswer.Source: CustomStringConvertible {
  package var description: String {
    switch self {
    case .server(let server): "\(server)"
    case .link(let link): link
    case .machine: "this machine (/etc/hosts, or a cache)"
    }
  }
}
