package import KernelModel
package import NetworkTypes

/// The DNS backend of this host, and the reasons against the others.
package struct ResolverChoice: Equatable, Sendable {
  package enum Backend: Equatable, Sendable {
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
  /// Whether systemd-resolved validates all answers, unless a link has another setting.
  package var validates = false
  /// The reason why our own name server cannot serve this backend; `nil`: it can.
  package var reasonAgainstNameServer: String?
  /// The reason why our own name server cannot take captured questions, whatever the backend is; `nil`: it can.
  package var reasonNotToCapture: String?
  /// Whether that reason is about to pass: our own name server is started again.
  package var isNameServerReturning = false
  /// Whether programs of glibc ask systemd-resolved, though resolv.conf does not lead to it: its links get the tunnels' servers too.
  package var asksResolvedToo = false
  /// Which programs ask whom, if it depends on the program; `nil`: all of them follow resolv.conf.
  package var lookup: String?
  /// Resolvers of this machine that resolv.conf named before us, such as NetworkManager's dnsmasq: they have settings of their own for
  /// names, so the names of no tunnel go on to them. Empty: to the network's servers.
  package var localServers: [IPAddress] = []
  /// The addresses of this machine at which programs ask a resolver, without us.
  package var resolversHere: [IPAddress] = []
  /// Whether programs of glibc ask systemd-resolved by its socket.
  package var isAskedBySocket = false

  /// Whether our own name server can run on this host, for names whose look-ups start a tunnel.
  package var nameServer: Answer<Bool> = .unavailable(reason: HostReports.notAsked)

  /// The plain file: the backend in tests and simulations.
  package static let file = ResolverChoice(
    backend: .file, candidates: [Candidate("file", isChosen: true, reason: "no resolver service manages it")])

  package init(backend: Backend, candidates: [Candidate]) {
    self.backend = backend
    self.candidates = candidates
    reasonAgainstNameServer = HostReports.notAsked
    reasonNotToCapture = HostReports.notAsked
  }

  /// Chooses the backend that resolv.conf leads programs to; without one, the file itself is written. A symbolic link is never replaced.
  package init(_ facts: ResolverFacts, file: ObservedResolvConf) {
    let resolved = Self.judgeResolved(facts, file)
    let resolvconf = Self.judgeResolvconf(facts)
    let plain = Self.judgeFile(facts, file)
    let way = facts.hosts.way(resolvedAnswers: facts.resolvedAnswersGlibc)
    let isSet = resolvconf.program != nil || plain.isPossible
    let isResolved = resolved.leads || (way == .resolved && !isSet)
    let isResolvconf = !isResolved && resolvconf.program != nil
    let isFile = !isResolved && !isResolvconf && plain.isPossible
    backend = isResolved ? .resolved : isResolvconf ? resolvconf.program.map { .resolvconf($0) } ?? .none : isFile ? .file : .none
    let notAsked = "a better one is there"
    candidates = [
      Candidate(
        "systemd-resolved", isChosen: isResolved,
        reason: isResolved && !resolved.leads ? "programs of glibc ask it (`\(facts.hosts)` in /etc/nsswitch.conf)" : resolved.reason),
      Candidate(
        resolvconf.program?.rawValue ?? "resolvconf", isChosen: isResolvconf,
        reason: isResolved && resolvconf.program != nil ? notAsked : resolvconf.reason),
      Candidate("file", isChosen: isFile, reason: (isResolved || isResolvconf) && plain.isPossible ? notAsked : plain.reason),
    ]
    asksResolvedToo = !isResolved && way == .resolved
    rivals = isResolved || asksResolvedToo ? facts.rivals : []
    validates = facts.validates
    lookup = Self.lookup(facts, way: way, leads: resolved.leads)
    localServers = isResolved ? [] : facts.localServers(of: backend)
    isAskedBySocket = facts.mayAnswerGlibc
    resolversHere = facts.resolversHere(withStub: isResolved || asksResolvedToo)
    nameServer = facts.nameServer
    reasonAgainstNameServer =
      switch (backend, facts.nameServer) {
      case (.resolved, _): "systemd-resolved knows names apart"
      case (.none, _): "no program would ask it"
      case (_, .unavailable(let reason)): reason
      case (_, .pending), (_, .value): nil
      }
    if case .unavailable(let reason) = facts.nameServer { reasonNotToCapture = reason }
    isNameServerReturning = facts.isNameServerReturning
    switch (backend, facts.resolved) {
    case (.resolved, .unavailable(let reason)):
      obstacle =
        "\(facts.path) leads to systemd-resolved, which does not answer (\(reason)); cure: systemctl restart systemd-resolved"
    case (_, .pending) where isResolved || facts.mayAnswerGlibc: isPending = true
    case (.resolved, .value) where facts.leadsPastStub:
      remark =
        "\(facts.path) names the servers of all links, so programs that read it ask any of them;"
        + " cure: ln -sf ../run/systemd/resolve/stub-resolv.conf \(facts.path)"
    case (.resolved, .value) where !resolved.leads:
      remark =
        "programs that read \(facts.path) themselves (musl, Go) bypass the tunnel's servers, because it cannot be set: \(plain.reason); cure: "
        + "ln -sf ../run/systemd/resolve/stub-resolv.conf \(facts.path)"
    case (.resolved, _) where way == .unresolved, (.resolvconf, _) where way == .unresolved, (.file, _) where way == .unresolved:
      remark = lookup.map { "\($0), so they resolve no name; cure: add `dns` to that line" }
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
      let local = facts.localServers(of: .file)
      let front = local.isEmpty ? "" : "; the resolver at \(local[0]), which it names, stays in charge of other names"
      guard let writer = facts.original?.writer else { return (true, "no resolver service manages it" + front) }
      return (true, "\(writer) writes it, and it is written again after \(writer)" + front)
    }
  }

  private static func lookup(_ facts: ResolverFacts, way: HostsLookup.Way, leads: Bool) -> String? {
    switch way {
    case .resolved where !leads:
      "programs of glibc ask systemd-resolved (`\(facts.hosts)` in /etc/nsswitch.conf), others the servers of \(facts.path)"
    case .unresolved:
      "programs of glibc ask no name server (`\(facts.hosts)` in /etc/nsswitch.conf)"
    case .resolved, .resolvConf: nil
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

  /// Whether the module of glibc asks systemd-resolved, and gets answers; or will, when it has answered us.
  fileprivate var resolvedAnswersGlibc: Bool { hasResolveModule && resolved == .value(true) }

  fileprivate var mayAnswerGlibc: Bool { hasResolveModule && hosts.way(resolvedAnswers: true) == .resolved }

  /// The servers on this machine that programs ask without us; empty if they ask others too.
  fileprivate func localServers(of backend: ResolverChoice.Backend) -> [IPAddress] {
    if case .resolvconf(.debian) = backend { return serversOfLoopbackRecords }
    let servers = original?.content.nameServers ?? []
    guard servers.allSatisfy(\.isLoopback), !namesOnlyStub else { return [] }
    return servers.filter { $0 != NameServerSettings.address }
  }

  /// `withStub`: programs may ask systemd-resolved.
  fileprivate func resolversHere(withStub: Bool) -> [IPAddress] {
    let stub = withStub ? ["127.0.0.53", "127.0.0.54"].compactMap { IPAddress($0) } : []
    let named = (original?.content.nameServers ?? []).filter(\.isLoopback) + serversOfLoopbackRecords
    return (named.filter { $0 != NameServerSettings.address } + stub).uniqued()
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

  /// Whether split DNS is possible: by the backend, or by our own name server.
  package var splits: Bool { backend == .resolved || hasNameServer }

  /// The reason why look-ups cannot be watched here; `nil`: they can.
  package var reasonNotToWatch: String? {
    if let obstacle { return obstacle }
    if case .unavailable(let reason) = nameServer { return reason }
    if asksResolvedToo {
      return
        "programs of glibc ask systemd-resolved past resolv.conf; cure: ln -sf ../run/systemd/resolve/stub-resolv.conf /etc/resolv.conf"
    }
    return backend == .resolved ? nil : reasonAgainstNameServer
  }

  /// Whether look-ups can be watched here, or can be again in a moment.
  package var canWatch: Bool { reasonNotToWatch == nil || isNameServerReturning }

  /// Whether our own name server can serve this backend.
  package var hasNameServer: Bool { reasonAgainstNameServer == nil }
}
