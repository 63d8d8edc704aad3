internal import NetworkTypes
package import ProviderProtocol

/// nebula(1) while it runs, by the lines that it logs: the hosts that it reaches, and its last words.
package struct NebulaRun: Sendable {
  /// Whether there is a host of the overlay to reach.
  private enum Search {
    /// nebula has just begun: it may still want one.
    case undecided
    /// It has wanted none in the time in which it would have.
    case none
    case wanted
  }

  let settings: NebulaSettings
  let certificate: NebulaCertificate
  private var search = Search.undecided
  /// Hosts of the overlay with a tunnel.
  package private(set) var reached: Set<String> = []
  private var lastWords = ""

  package init(settings: NebulaSettings, certificate: NebulaCertificate) {
    self.settings = settings
    self.certificate = certificate
  }

  /// Whether packets go anywhere: a host is reached, or there is none that it wants to reach.
  private var hasPath: Bool { !reached.isEmpty || search == .none }

  /// Takes a line. Returns whether packets go anywhere, if the line tells that. A tunnel that is ready stays so while it looks for a host.
  package mutating func take(_ line: NebulaLine, isReady: Bool) -> Bool? {
    switch line {
    case .active: return nil
    case .wanting:
      search = .wanted
      return isReady ? nil : hasPath
    case .reached(let host):
      if reached.count < 100_000 { reached.insert(host) }
      return hasPath
    case .lost(let host):
      reached.remove(host)
      return hasPath
    case .other(let words, let isLoud):
      if isLoud { lastWords = words }
      return nil
    }
  }

  /// The time is over in which it begins a handshake if there is a host to reach. Returns whether packets go anywhere.
  package mutating func lullIsOver() -> Bool {
    if search == .undecided { search = .none }
    return hasPath
  }

  /// The settings that the agent applies for it.
  var tunnelSettings: TunnelSettings {
    var wanted = TunnelSettings(addresses: certificate.addresses)
    wanted.mtu = settings.mtu
    wanted.includedRoutes = (certificate.addresses.map(\.onLinkPrefix) + settings.routes.map(\.prefix)).uniqued()
    return wanted
  }

  /// The failure that its end is, when the agent did not want it. `code`: its exit code.
  package func failure(code: Int32, wasReady: Bool) -> TunnelFailure {
    let words = lastWords.isEmpty ? "with status \(code)" : "(\(lastWords))"
    // 1: what it was given is wrong, unless its device changed while it was set, or a killed nebula still has it. All else is a crash, or a
    // signal of another program.
    let isWrong = code == 1 && !wasReady && !Self.isOfDevice(lastWords)
    return TunnelFailure(code: "nebula-ended", text: "nebula ended \(words); see its log", help: isWrong ? .person : .time)
  }

  /// Whether its last words are about its device: nebula(1) begins those with one of these steps.
  private static func isOfDevice(_ words: String) -> Bool {
    let steps = ["set tun", "set mtu", "bring the tun", "run tun", "get tun", "get a tun"]
    let text = words.lowercased()
    return text.contains("device or resource busy") || steps.contains { text.contains("failed to \($0)") }
  }
}
