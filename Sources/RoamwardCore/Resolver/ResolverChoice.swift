package import KernelModel
internal import NetworkTypes

/// The DNS backend of this host, and the reasons against the others.
package struct ResolverChoice: Hashable, Sendable {
  package enum Backend: Hashable, Sendable {
    case resolved
    case resolvconf(ResolvconfProgram)
    case file
    /// No backend accepts name servers.
    case none
  }

  /// A DNS backend that was considered.
  package struct Candidate: Hashable, Sendable {
    package var name: String
    package var isChosen: Bool
    package var reason: String

    package init(_ name: String, isChosen: Bool, reason: String) {
      self.name = name
      self.isChosen = isChosen
      self.reason = reason
    }
  }

  package var backend: Backend
  package var candidates: [Candidate]
  /// The reason why name servers cannot be set now, with a remedy; `nil` if they can be set.
  package var obstacle: String?
  /// A note for people on a backend that works.
  package var remark: String?
  /// Whether the chosen backend has not answered yet.
  package var isPending = false
  /// Links of other programs that claim every name too.
  package var rivals: [String] = []

  /// The plain file: the backend in tests and simulations.
  package static let file = ResolverChoice(
    backend: .file, candidates: [Candidate("file", isChosen: true, reason: "no resolver service manages it")])

  package init(backend: Backend, candidates: [Candidate]) {
    self.backend = backend
    self.candidates = candidates
  }

  /// Chooses the backend that resolv.conf leads programs to; without one, the file itself is written. A symbolic link is never replaced.
  package init(_ facts: ResolverFacts, file: ObservedResolvConf) {
    let resolved = Self.judgeResolved(facts, file)
    let resolvconf = Self.judgeResolvconf(facts)
    let plain = Self.judgeFile(facts, file)
    let isResolved = resolved.leads
    let isResolvconf = !isResolved && resolvconf.program != nil
    let isFile = !isResolved && !isResolvconf && plain.isPossible
    backend = isResolved ? .resolved : isResolvconf ? resolvconf.program.map { .resolvconf($0) } ?? .none : isFile ? .file : .none
    let notAsked = "a better one is there"
    candidates = [
      Candidate("systemd-resolved", isChosen: isResolved, reason: resolved.reason),
      Candidate(
        resolvconf.program?.rawValue ?? "resolvconf", isChosen: isResolvconf,
        reason: isResolved && resolvconf.program != nil ? notAsked : resolvconf.reason),
      Candidate("file", isChosen: isFile, reason: (isResolved || isResolvconf) && plain.isPossible ? notAsked : plain.reason),
    ]
    rivals = isResolved ? facts.rivals : []
    switch (backend, facts.resolved) {
    case (.resolved, .unavailable(let reason)):
      obstacle =
        "\(facts.path) leads to systemd-resolved, which does not answer (\(reason)); cure: systemctl restart systemd-resolved"
    case (.resolved, .pending): isPending = true
    case (.resolved, .value) where facts.leadsPastStub:
      remark =
        "\(facts.path) names the servers of all links, so programs that read it ask any of them;"
        + " cure: ln -sf ../run/systemd/resolve/stub-resolv.conf \(facts.path)"
    case (.none, _): obstacle = "\(plain.reason); cure: \(Self.cure(facts))"
    default: break
    }
  }

  // MARK: The candidates

  private static func judgeResolved(_ facts: ResolverFacts, _ file: ObservedResolvConf) -> (leads: Bool, reason: String) {
    if let target = facts.target, let way = resolvedFile(target) { return (true, "\(facts.path) is a link to its \(way)") }
    guard facts.target == nil, facts.namesOnlyStub else { return (false, "\(facts.path) does not lead to it") }
    // The file itself can be written if no server listens on the stub address that it names.
    switch facts.resolved {
    case .value, .pending: return (true, "\(facts.path) names its stub alone")
    case .unavailable(let reason): return (false, "\(facts.path) names its stub, but it does not answer (\(reason))")
    }
  }

  private static func resolvedFile(_ target: String) -> String? {
    if target.hasSuffix("/systemd/resolve/stub-resolv.conf") || target.hasSuffix("/lib/systemd/resolv.conf") { return "stub's file" }
    return target.hasSuffix("/systemd/resolve/resolv.conf") ? "list of all servers" : nil
  }

  private static func judgeResolvconf(_ facts: ResolverFacts) -> (program: ResolvconfProgram?, reason: String) {
    switch facts.resolvconf {
    case nil: return (nil, "it is not installed")
    case .debian:
      let isIts = facts.target.map { $0.hasSuffix("/resolvconf/resolv.conf") || $0.hasSuffix("/resolvconf/run/resolv.conf") } ?? false
      return isIts ? (.debian, "\(facts.path) is a link to its file") : (nil, "it is installed, but \(facts.path) is no link to its file")
    case .openresolv:
      if facts.hasRecord { return (.openresolv, "it has our record") }
      let isIts = facts.target == nil && facts.original?.writer == "resolvconf"
      return isIts ? (.openresolv, "it wrote \(facts.path)") : (nil, "it is installed, but did not write \(facts.path)")
    }
  }

  private static func judgeFile(_ facts: ResolverFacts, _ file: ObservedResolvConf) -> (isPossible: Bool, reason: String) {
    switch file {
    case .untouchable(let reason): return (false, reason)
    case .absent: return (true, "there is none")
    case .file:
      guard let writer = facts.original?.writer else { return (true, "no resolver service manages it") }
      return (true, "\(writer) writes it, and it is written again after \(writer)")
    }
  }

  private static func cure(_ facts: ResolverFacts) -> String {
    if facts.target?.contains("NetworkManager") == true {
      return "apt install systemd-resolved, or `rc-manager=file` below [main] in /etc/NetworkManager/NetworkManager.conf"
    }
    if facts.target?.contains("resolvconf") == true { return "apt install resolvconf, whose file it is, or systemd-resolved" }
    return "apt install systemd-resolved"
  }
}

extension ResolverFacts {
  /// Whether the file names only 127.0.0.53 or 127.0.0.54, the addresses of systemd-resolved's stub.
  var namesOnlyStub: Bool {
    guard let servers = original?.content.nameServers, !servers.isEmpty else { return false }
    return servers.allSatisfy { ["127.0.0.53", "127.0.0.54"].contains($0.description) }
  }

  /// Whether programs that read the file bypass systemd-resolved and query the servers directly.
  fileprivate var leadsPastStub: Bool { target?.hasSuffix("/systemd/resolve/resolv.conf") ?? false }
}

extension ResolverChoice.Backend: CustomStringConvertible {
  package var description: String {
    switch self {
    case .resolved: "systemd-resolved"
    case .resolvconf(let program): program.rawValue
    case .file: "file"
    case .none: "none"
    }
  }
}

extension ResolverChoice {
  /// The reason for this choice.
  package var reason: String { obstacle ?? candidates.first(where: \.isChosen)?.reason ?? "no program takes them" }

  /// Whether the backend supports split DNS.
  package var splits: Bool { backend == .resolved }
}
