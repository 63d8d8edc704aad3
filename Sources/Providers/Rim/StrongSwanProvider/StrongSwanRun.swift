internal import NetworkTypes
package import ProviderProtocol
package import VICI

/// charon while it runs, by its log and its vici: the requests to it, the child that is established, and the trouble that it told. Events
/// go in, effects come out.
package struct StrongSwanRun: Sendable {
  package enum Effect: Equatable, Sendable {
    case log(LogLine.Level, Word, String)
    case send(VICIPacket)
    /// The server has sent these settings with a child.
    case apply(TunnelSettings)
    /// The server answers.
    case found
    /// It does not.
    case doubt(String)
    case fail(TunnelFailure)
  }

  private let tunnel: String
  private let options: IKEOptions
  /// Requests that were not sent yet: charon answers one at a time.
  private var requests: [VICIPacket]
  private var awaited: VICIPacket?
  package private(set) var child: EstablishedChild?
  private var nameServers: [IPAddress] = []
  /// The first failure, which is the cause of others.
  package private(set) var trouble: TunnelFailure?

  /// - Parameter requests: the requests that load the connection. It is then initiated.
  package init(tunnel: String, options: IKEOptions, requests: [VICIPacket]) {
    self.tunnel = tunnel
    self.options = options
    self.requests = ["ike-updown", "child-updown"].map { .register($0) } + requests
    self.requests.append(.request("initiate", VICIMessage([.text("child", tunnel), .text("ike", tunnel), .text("timeout", "0")])))
  }

  // MARK: The log

  /// The words of a line for the log. `now`: the time, for certificates (`CertificateValidity.now`).
  package func words(of line: CharonLine, at now: String) -> [Effect] {
    switch line {
    case .trouble(let failure): [.log(.warning, "charon", failure.text)]
    case .refused(let text): [.log(.warning, "charon", options.refusal(line: text, at: now).text)]
    case .waiting(let text), .other(let text): [.log(.debug, "charon", text)]
    case .answered, .nameServer: []
    }
  }

  /// Takes a line of the log. `now`: the time, for certificates (`CertificateValidity.now`).
  package mutating func take(_ line: CharonLine, at now: String) -> [Effect] {
    let words = words(of: line, at: now)
    switch line {
    case .trouble(let failure): trouble = trouble ?? failure
    case .refused(let text): trouble = trouble ?? options.refusal(line: text, at: now)
    case .waiting(let text): return [.doubt("the server does not answer (\(text))")] + words
    case .answered: return child == nil ? [] : [.found]
    case .nameServer(let text): if let address = IPAddress(text), nameServers.count < 16 { nameServers.append(address) }
    case .other: break
    }
    return words
  }

  // MARK: vici

  /// vici can be used, or charon has answered: the next request is sent.
  package mutating func sendNext() -> [Effect] {
    awaited = requests.isEmpty ? nil : requests.removeFirst()
    return awaited.map { [.send($0)] } ?? []
  }

  /// Takes a packet of charon.
  package mutating func take(_ packet: VICIPacket) -> [Effect] {
    switch packet {
    case .confirmed: return sendNext()
    case .response(let response): return answered(response)
    case .unknownCommand, .unknownEvent:
      return [.fail(TunnelFailure(code: "charon-unknown", text: "charon has no vici as of strongSwan 5.9; update it", help: .person))]
    case .event("child-updown", let message):
      return EstablishedChild(message, name: tunnel).map { changed($0) } ?? []
    case .event("ike-updown", let message):
      return message.text("up") != "yes" && message.section(tunnel) != nil ? lost() : []
    default: return []
    }
  }

  private mutating func answered(_ response: VICIMessage) -> [Effect] {
    guard case .request(let command, _) = awaited else { return [] }
    if response.text("success") != "no" { return sendNext() }
    let reason = String((response.text("errmsg") ?? "without a reason").prefix(300))
    if command == "initiate" {
      return [.fail(trouble ?? TunnelFailure(code: "ike-failed", text: "charon cannot connect: \(reason)", help: .time))]
    }
    let text = "charon refuses a part of the options or credentials (\(command)): \(reason)"
    return [.fail(TunnelFailure(code: "invalid-options", text: text, help: .person))]
  }

  private mutating func changed(_ new: EstablishedChild) -> [Effect] {
    guard new.isUp else { return lost() }
    (child, trouble) = (new, nil)
    var settings = TunnelSettings(remoteAddress: new.server, addresses: new.addresses, includedRoutes: new.routes)
    // Outer header, UDP, ESP with the largest of its parts (CBC and SHA-512).
    settings.overhead = new.server?.family == .v6 ? 108 : 88
    if !nameServers.isEmpty { settings.dns = DNSSettings(servers: nameServers) }
    let unreadable = new.unreadable.prefix(20).map {
      Effect.log(.notice, "settings", "the server's selector \($0) is no prefix: it gets no route")
    }
    return unreadable + [.apply(settings), .found]
  }

  private mutating func lost() -> [Effect] {
    guard child != nil else { return [] }
    child = nil
    return [.fail(trouble ?? TunnelFailure(code: "connection-lost", text: "the server has ended the connection", help: .time))]
  }

  /// The failure that its end is, when the agent did not want it. `code`: its exit code.
  package func failure(code: Int32) -> TunnelFailure {
    trouble ?? TunnelFailure(code: "charon-ended", text: "charon ended with status \(code); see its log", help: .time)
  }
}
