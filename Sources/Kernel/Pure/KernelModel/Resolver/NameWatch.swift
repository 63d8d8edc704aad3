package import NetworkTypes

/// Names whose look-ups start a tunnel (`evaluate-connection`).
package struct NameWatch: Hashable, Sendable {
  /// The treatment of a look-up while the tunnel is down.
  package enum Fate: Hashable, Sendable {
    /// It waits until the tunnel is connected. No server outside gets it.
    case always
    /// These servers are asked first; none: those of all other names. The tunnel is started if they do not resolve the name.
    case ifNeeded(servers: [IPAddress])
    /// As if there were no tunnel.
    case never
  }

  package struct Entry: Hashable, Sendable {
    /// Of several domains that contain a name, the longest decides, of any entry.
    package var domains: [DomainName]
    /// Whether the entry is for every name that no other domain contains.
    package var holdsOthers: Bool
    package var fate: Fate

    package init(domains: [DomainName], holdsOthers: Bool = false, fate: Fate) {
      self.domains = domains
      self.holdsOthers = holdsOthers
      self.fate = fate
    }
  }

  /// The state of the tunnel, as it matters for a look-up.
  package enum Progress: String, Equatable, Sendable, CaseIterable {
    /// A look-up starts it.
    case down
    /// The tunnel starts.
    case starting
    /// Its routes are in place: its name servers can be asked.
    case connected
    /// Its start has failed.
    case failed
  }

  package var tunnel: String
  /// The servers that resolve the names while the tunnel is connected; none: those of all other names.
  package var servers: [IPAddress]
  package var entries: [Entry]
  /// Addresses that the network's servers must not give for a name of `ifNeeded`: the tunnel's own. Such an answer starts the tunnel.
  package var blocked: [IPPrefix] = []
  package var progress: Progress

  package init(tunnel: String, servers: [IPAddress], entries: [Entry], progress: Progress = .down) {
    self.tunnel = tunnel
    self.servers = servers
    self.entries = entries
    self.progress = progress
  }
}

extension NameWatch {
  /// The domain that decides on the name, and its fate; `nil`: the name is not watched. The domain is `nil` if the entry holds every name.
  package func fate(of name: DomainName) -> (domain: DomainName?, fate: Fate)? {
    let matches = entries.flatMap { entry in entry.domains.filter(name.isWithin).map { (domain: $0, fate: entry.fate) } }
    if let best = matches.max(by: { $0.domain.text.utf8.count < $1.domain.text.utf8.count }) { return (best.domain, best.fate) }
    return entries.first(where: \.holdsOthers).map { (nil, $0.fate) }
  }

  /// The domains whose look-ups may start the tunnel.
  package var startingDomains: [DomainName] { entries.filter { $0.fate != .never }.flatMap(\.domains) }

  /// The domains whose names are resolved as if there were no tunnel.
  package var exceptions: [DomainName] { entries.filter { $0.fate == .never }.flatMap(\.domains) }
}

extension NameWatch: CustomStringConvertible {
  /// `corp.example starts corp (down)`.
  package var description: String {
    let texts = entries.compactMap { entry -> String? in
      let names = (entry.domains.map(\.text) + (entry.holdsOthers ? ["."] : [])).joined(separator: " ")
      return switch entry.fate {
      case .always: "\(names) starts \(tunnel)"
      case .ifNeeded: "\(names) starts \(tunnel) if needed"
      case .never: nil
      }
    }
    return "\(texts.joined(separator: ", ")) (\(progress.rawValue))"
  }
}

extension NameServerSettings {
  /// The settings without the states of tunnels.
  package var withoutProgress: NameServerSettings {
    var settings = self
    for i in settings.watches.indices { settings.watches[i].progress = .down }
    return settings
  }

  /// The watch that decides on the name: the longest domain of any; `nil`: none.
  package func watch(for name: DomainName) -> (watch: NameWatch, domain: DomainName?, fate: NameWatch.Fate)? {
    let found = watches.compactMap { watch in watch.fate(of: name).map { (watch: watch, domain: $0.domain, fate: $0.fate) } }
    return found.max { ($0.domain?.text.utf8.count ?? 0) < ($1.domain?.text.utf8.count ?? 0) }
  }
}
