package import Lives
package import NetworkTypes
package import ProviderProtocol

/// openvpn(8) while it runs, by the lines of its management interface: its connection, what its server has sent, and the trouble that it
/// told. Lines go in, effects come out.
package struct OpenVPNRun: Sendable {
  package enum Effect: Equatable, Sendable {
    case log(LogLine.Level, Word, String)
    /// Send a command.
    case send(String)
    /// Send a command after this time.
    case sendLater(String, after: Duration)
    /// Have openvpn count after this time, if the connection is still the same.
    case look(LifeToken, after: Duration)
    case apply(TunnelSettings)
    /// The server is connected.
    case found
    /// It is not any more.
    case lost(Word, String)
    /// It does not answer.
    case doubt(Word, String)
    /// A person signs in at this page.
    case page(String)
    /// openvpn wants a secret: its kind, and the text of a challenge.
    case wants(String, ManagementLine.Challenge?)
    /// The server has another question before it lets a person in.
    case challenged(ManagementLine.DynamicChallenge)
    case fail(TunnelFailure)
  }

  package struct Login: Sendable {
    var username: String?
    var password: String?
    var keyPassword: String?
    /// The answer to a dynamic challenge, for the next question.
    var answer: (username: String, password: String)?

    package init(username: String? = nil, password: String? = nil, keyPassword: String? = nil) {
      self.username = username
      self.password = password
      self.keyPassword = keyPassword
    }
  }

  /// The command whose answer are the bytes of the connection.
  static let counting = "status"
  /// Settings of a server that are kept.
  private static let longest = 8192

  var login: Login
  /// The number of servers that it can turn to.
  private let servers: Int
  /// The connection to a server; `nil`: there is none.
  private var connection: LifeToken?
  private var settings: [(name: String, value: String)] = []
  private var pushReply = ""
  /// The reason that openvpn gave last for having no connection.
  package private(set) var trouble = ""
  /// The trouble that its log has told since the last connection.
  private var known: OpenVPNTrouble?
  /// Holds that were released since the last connection.
  private var attempts = 0
  private var lastLine = ""
  private var silence = ServerSilence()
  private var received: UInt64 = 0

  package init(login: Login, servers: Int) {
    self.login = login
    self.servers = max(1, servers)
  }

  package var isConnected: Bool { connection != nil }

  package func isConnected(as connection: LifeToken) -> Bool { self.connection == connection }

  /// The words of a line for the log.
  static func words(of line: ManagementLine) -> [Effect] {
    switch line {
    case .log("MANAGEMENT: CMD '\(counting)'", _): []
    case .log(let text, let isLoud): [.log(isLoud ? .warning : .debug, "openvpn", text)]
    case .failure(let text): [.log(.warning, "management", text)]
    default: []
    }
  }

  /// Takes a line.
  package mutating func take(_ line: ManagementLine, isReady: Bool, at now: Moment) -> [Effect] {
    switch line {
    case .state(let state, let description): return entered(state, description)
    case .hold(let seconds): return hold(seconds)
    case .needs(let what, _, let challenge): return [.wants(what, challenge)]
    case .refused(let what, let challenge): return refused(what, challenge)
    case .up: settings = []
    case .setting(let name, let value): if settings.count < Self.longest { settings.append((name, value)) }
    case .endOfSettings: return endOfSettings()
    case .log(let text, _): hear(text)
    case .fatal(let text): return [.fail(TunnelFailure(code: "openvpn-failed", text: text, help: .time))]
    case .page(let url): return [.page(url)]
    case .received(let bytes): received = bytes
    case .sent(let bytes): return judge(sent: bytes, isReady: isReady, at: now)
    case .down, .failure, .other: break
    }
    return Self.words(of: line)
  }

  private mutating func hear(_ text: String) {
    if text.contains("PUSH_REPLY") { pushReply = text }
    if text == "MANAGEMENT: CMD '\(Self.counting)'" { return }
    lastLine = text
    if !isConnected, let found = OpenVPNTrouble(text) { known = found }
  }

  private mutating func entered(_ state: String, _ description: String) -> [Effect] {
    switch state {
    case "CONNECTED":
      let connection = LifeToken()
      (self.connection, trouble, attempts, known) = (connection, "", 0, nil)
      silence.begin(pings: ServerSettings(settings, pushReply: pushReply).pings)
      return [.look(connection, after: silence.pause), .found]
    case "RECONNECTING":
      (connection, trouble) = (nil, description)
      return [.lost("reconnecting", "openvpn connects again (\(description))")]
    case "EXITING":
      trouble = description
      return []
    default: return []
    }
  }

  private mutating func judge(sent: UInt64, isReady: Bool, at now: Moment) -> [Effect] {
    guard let connection else { return [] }
    let time = silence.take(received: received, sent: sent, at: now)
    let look = Effect.look(connection, after: silence.pause)
    guard isReady, let time else { return [look] }
    return [
      look, .doubt("peer-timeout", "the server has not answered for \(time.components.seconds) s"), .send("signal SIGUSR1"),
    ]
  }

  /// Answered at once, a server that refuses connections would be asked hundreds of times a second.
  private mutating func hold(_ seconds: Int) -> [Effect] {
    // Each server is tried before what one of them said is the reason.
    if let known, attempts >= servers { return [.fail(TunnelFailure(code: known.code, text: known.text, help: .time))] }
    let pause = attempts == 0 ? 0 : max(seconds, min(1 << min(attempts, 6), 60))
    attempts += 1
    return [.sendLater("hold release", after: .seconds(pause))]
  }

  private func endOfSettings() -> [Effect] {
    guard settings.contains(where: { $0.name == "dev" }) else { return [] }
    let sent = ServerSettings(settings, pushReply: pushReply)
    return sent.unreadable.prefix(20).map { .log(.warning, "settings", "the server's `\($0)` cannot be read") } + [.apply(sent.settings)]
  }

  private func refused(_ what: String, _ challenge: ManagementLine.DynamicChallenge?) -> [Effect] {
    if let challenge, what == "Auth" { return [.challenged(challenge)] }
    let which = what == "Auth" ? "the server refused the user name or the password" : "the password of the private key is wrong"
    return [.fail(TunnelFailure(code: "auth-failed", text: "\(which); correct it", help: .person))]
  }

  /// The failure that its end is, when the agent did not want it. `code`: its exit code.
  package func failure(code: Int32) -> TunnelFailure {
    if let known { return TunnelFailure(code: known.code, text: known.text, help: .time) }
    let why = !trouble.isEmpty ? "(\(trouble))" : "with status \(code)" + (lastLine.isEmpty ? "" : ": \(lastLine)")
    return TunnelFailure(code: "openvpn-ended", text: "openvpn ended \(why); see its log", help: .time)
  }
}
