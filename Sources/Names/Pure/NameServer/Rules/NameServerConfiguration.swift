package import NetworkTypes

/// A name server, by its address and port.
package struct Upstream: Hashable, Sendable {
  package var address: IPAddress
  package var port: UInt16

  package init(_ address: IPAddress, port: UInt16 = 53) {
    self.address = address
    self.port = port
  }
}

/// Name servers that know the same names, in order of preference, and how to treat their answers.
package struct UpstreamGroup: Equatable, Sendable {
  /// None: every question fails at once.
  package var servers: [Upstream]
  /// The pool of sockets that leads to them.
  package var pool: UInt16
  /// The limit of times to live in seconds, for names that are valid only while a tunnel is up; `nil`: none.
  package var longestTTL: UInt32?
  /// Addresses that an answer of this group may not have: those inside of tunnels, for servers outside of them.
  package var blocked: [IPPrefix]

  package init(servers: [Upstream], pool: UInt16, longestTTL: UInt32? = nil, blocked: [IPPrefix] = []) {
    self.servers = servers
    self.pool = pool
    self.longestTTL = longestTTL
    self.blocked = blocked
  }
}

/// A tunnel that look-ups start.
package struct Trigger: Hashable, Sendable, Codable {
  /// The tunnel's name, for the text of failures.
  package var name: String
  /// The group that resolves its names while it is connected.
  package var group: Int

  package init(name: String, group: Int) {
    self.name = name
    self.group = group
  }
}

/// The fate of questions for the names of a rule.
package enum Disposition: Hashable, Sendable, Codable {
  /// A group resolves them. `never-connect`: the group of the underlay.
  case forward(group: Int)
  /// `connect-always`: they wait until the trigger's tunnel is connected, and then its group resolves them. No other server gets them.
  case connectAlways(trigger: Int)
  /// `connect-if-needed`: the group `first` is asked while the tunnel is down. If it does not answer, says that the name does not exist,
  /// fails, or gives a blocked address, they go on as by `connectAlways`.
  case connectIfNeeded(trigger: Int, first: Int)
  /// They fail at once: their tunnel is down, and `when-down: refuse` applies.
  case refuse
}

/// Captured questions go to the server that the program asked.
package struct Passing: Hashable, Sendable, Codable {
  /// The group of the network's own servers, that would resolve them otherwise.
  package var from: Int
  /// The group by whose sockets the asked server gets them, and whose blocked addresses its answers may not have.
  package var by: Int

  package init(from: Int, by: Int) {
    self.from = from
    self.by = by
  }
}

/// The configuration of the name server, as the agent determines it.
package struct NameServerConfiguration: Sendable {
  /// Identifies the network: answers of another one are forgotten.
  package var network: UInt64
  package var groups: [UpstreamGroup]
  package var triggers: [Trigger]
  /// The fates that rules may have, by their number in `domains`.
  package var dispositions: [Disposition]
  /// The domains of the rules. The longest domain decides.
  package var domains: DomainMap
  /// The fate of all other names.
  package var rest: Disposition
  /// Whether use-application-dns.net does not exist, so that browsers leave names to the system (Mozilla's canary domain).
  package var answersCanary: Bool
  /// The passing of captured questions to the server that was asked; `nil`: the network's servers resolve them.
  package var passing: Passing?
  /// The groups that answer programs with a route of their own, by the numbers of the routes.
  package var routes: [UInt16: Int] = [:]
  /// The domains that programs append to names of several labels too, once these were not resolved (`search` in resolv.conf).
  package var searchDomains: [DomainName]
  /// Domains whose names may have blocked addresses.
  package var rebindAllowed = DomainMap()
  /// Domains whose names are routed: their answers wait until the agent has routed the addresses.
  package var routed = DomainMap()

  package init(
    network: UInt64 = 0, groups: [UpstreamGroup] = [], triggers: [Trigger] = [], dispositions: [Disposition] = [],
    domains: DomainMap = DomainMap(), rest: Disposition = .refuse, answersCanary: Bool = false, passing: Passing? = nil,
    searchDomains: [DomainName] = []
  ) {
    self.network = network
    self.groups = groups
    self.triggers = triggers
    self.dispositions = dispositions
    self.domains = domains
    self.rest = rest
    self.answersCanary = answersCanary
    self.passing = passing
    self.searchDomains = searchDomains
  }

  /// The reason why it cannot be used: it refers to a group, a trigger or a disposition that is missing; `nil`: it can.
  package var fault: String? {
    for trigger in triggers where !groups.indices.contains(trigger.group) {
      return "trigger \(trigger.name): there is no group \(trigger.group)"
    }
    for group in passing.map({ [$0.from, $0.by] }) ?? [] where !groups.indices.contains(group) { return "there is no group \(group)" }
    for group in routes.values where !groups.indices.contains(group) { return "there is no group \(group)" }
    for disposition in dispositions + [rest] {
      switch disposition {
      case .forward(let group) where !groups.indices.contains(group): return "there is no group \(group)"
      case .connectAlways(let trigger) where !triggers.indices.contains(trigger): return "there is no trigger \(trigger)"
      case .connectIfNeeded(let trigger, let first):
        if !triggers.indices.contains(trigger) { return "there is no trigger \(trigger)" }
        if !groups.indices.contains(first) { return "there is no group \(first)" }
      default: break
      }
    }
    return nil
  }

  /// The fate of a name: lower case, without a dot at its end.
  func disposition(of name: Span<UInt8>) -> Disposition {
    namedDisposition(of: name) ?? rest
  }

  /// The fate of a client's question for a name: lower case, without a dot at its end.
  func disposition(of name: Span<UInt8>, from client: Client) -> Disposition {
    guard case .ofRoute(let number) = client.asked else { return disposition(of: name) }
    return routes[number].map { .forward(group: $0) } ?? .refuse
  }

  private func namedDisposition(of name: Span<UInt8>) -> Disposition? {
    guard let number = domains.number(for: name), dispositions.indices.contains(Int(number)) else { return nil }
    return dispositions[Int(number)]
  }

  /// The fate of the name to which a program has appended a search domain, if it has another one than the whole: such a name would reveal
  /// it to the wrong servers, and they could give it any address.
  ///
  /// Names of one label are meant to be searched. A domain of one label may be a label of the network's own names: `dev` in
  /// `www.dev.lab.example`.
  func dispositionBeforeSearch(of name: Span<UInt8>, from client: Client) -> Disposition? {
    if client.hasOwnRoute { return nil }
    for domain in searchDomains {
      let suffix = domain.text.utf8
      let end = name.count - suffix.count - 1
      guard end > 0, name[end] == UInt8(ascii: "."), zip(end + 1..<name.count, suffix).allSatisfy({ name[$0] == $1 }) else { continue }
      let head = name.extracting(0..<end)
      guard let dot = (0..<end).last(where: { head[$0] == UInt8(ascii: ".") }), let own = namedDisposition(of: head),
        namedDisposition(of: head.extracting(dot + 1..<end)) != own
      else { continue }
      if own != disposition(of: name) { return own }
    }
    return nil
  }

  private static let canary: [UInt8] = Array("use-application-dns.net".utf8)

  private func isCanary(_ name: Span<UInt8>) -> Bool {
    guard answersCanary, name.count == Self.canary.count else { return false }
    for i in 0..<name.count where name[i] != Self.canary[i] { return false }
    return true
  }

  /// The code of a response without records that a question gets, whatever its servers know; `nil`: they are asked. SVCB and HTTPS records
  /// of routed names would lead programs to other names, and to addresses beside those of the name (RFC 9460 section 7.3).
  func ownCode(for name: Span<UInt8>, _ type: UInt16) -> UInt16? {
    if isCanary(name) { return ResponseCode.noSuchName }
    return [RecordType.svcb, RecordType.https].contains(type) && isRouted(name) ? ResponseCode.noError : nil
  }

  /// Whether the answer's name may have blocked addresses.
  func isRebindAllowed(_ answer: Span<UInt8>) -> Bool {
    guard rebindAllowed.count > 0 else { return false }
    let text = NameText(answer, at: MessageFormat.header)
    return rebindAllowed.number(for: text.bytes.span.extracting(0..<text.count)) != nil
  }

  /// Whether the name is routed: lower case, without a dot at its end.
  func isRouted(_ name: Span<UInt8>) -> Bool { routed.count > 0 && routed.number(for: name) != nil }

  func isRouted(_ name: Span<UInt8>, _ client: Client) -> Bool { !client.hasOwnRoute && isRouted(name) }

  func isRouted(_ question: Question) -> Bool {
    guard routed.count > 0, !question.client.hasOwnRoute else { return false }
    let text = NameText(question.wire.span, at: 0)
    return isRouted(text.bytes.span.extracting(0..<text.count))
  }
}

extension NameServerConfiguration {
  /// The group that is asked first, if any is. `isConnected`: whether a trigger's tunnel is.
  func group(of disposition: Disposition, isConnected: (_ trigger: Int) -> Bool) -> Int? {
    switch disposition {
    case .forward(let group): group
    case .connectAlways(let trigger): isConnected(trigger) ? triggers[trigger].group : nil
    case .connectIfNeeded(let trigger, let first): isConnected(trigger) ? triggers[trigger].group : first
    case .refuse: nil
    }
  }
}
