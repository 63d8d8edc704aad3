import Glibc
import JSON
import NetworkTypes
import ProviderProtocol
import Testing

/// The examples of docs/provider-protocol.md are the test vectors of the protocol.
@Suite struct DocumentTests {
  /// A line of an example: who sends it, whether with a descriptor, and the bytes.
  struct Line: Sendable, CustomTestStringConvertible {
    var isAgent: Bool
    var hasDescriptor: Bool
    var text: String

    var bytes: [UInt8] { Array(text.utf8) }
    var testDescription: String { text }

    init?(_ text: Substring) {
      guard let blank = text.firstIndex(of: " ") else { return nil }
      switch text[..<blank] {
      case "P": (isAgent, hasDescriptor) = (false, false)
      case "A": (isAgent, hasDescriptor) = (true, false)
      case "A+": (isAgent, hasDescriptor) = (true, true)
      default: return nil
      }
      self.text = String(text[text.index(after: blank)...])
    }
  }

  /// The file, found from this one: through the package's own folder and from the repository's root.
  static let document: String = {
    let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
    guard let file = fopen("\(root)/docs/provider-protocol.md", "r") else { return "" }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }()

  /// The lines of the code blocks of a kind.
  static func blocks(_ kind: String) -> [[Substring]] {
    document.split(separator: "```\(kind)\n").dropFirst().map { block in
      Array(block.split(separator: "\n", omittingEmptySubsequences: false).prefix { $0 != "```" })
    }
  }

  @Test("each example is a message, and is written with the same bytes") func examples() throws {
    var types: Set<String> = []
    for text in Self.blocks("protocol").joined() {
      let line = try #require(Line(text), "\(text)")
      if line.isAgent {
        let message = try AgentMessage(decoding: line.bytes)
        types.insert("A \(message.type)")
        #expect(try message.encoded() == line.bytes, "\(text)")
      } else {
        let message = try ProviderMessage(decoding: line.bytes)
        types.insert("P \(message.type)")
        #expect(try message.encoded() == line.bytes, "\(text)")
      }
    }
    let all = Samples.agent.map { "A \($0.type)" } + Samples.provider.map { "P \($0.type)" } + ["P resolve"]
    #expect(types == Set(all), "types without an example, or without a sample: \(types.symmetricDifference(all))")
  }

  @Test("the conversation is one, for both sides, with the same bytes") func conversation() throws {
    let lines = try Self.blocks("conversation").joined().map { try #require(Line($0)) }
    #expect(lines.count > 25)
    var session = ProviderSession(tunnel: "corp", at: ProviderSessionTests.zero)
    var endpoint = ProviderEndpoint()
    // The messages that the agent sent, and that no line has shown yet.
    var sent: [ProviderSession.Action] = []
    for (number, line) in lines.enumerated() {
      if line.isAgent {
        if sent.isEmpty { sent = try Self.actions(of: try AgentMessage(decoding: line.bytes), &session) }
        guard case .send(let bytes, let attachment) = sent.removeFirst() else {
          Issue.record("\(line.text)")
          return
        }
        #expect(bytes == line.bytes && (attachment != nil) == line.hasDescriptor, "line \(number): \(line.text)")
        _ = try endpoint.receive(line.bytes, hasDescriptor: line.hasDescriptor)
      } else {
        if number > 0 { #expect(try endpoint.send(ProviderMessage(decoding: line.bytes)) == line.bytes, "\(line.text)") }
        let actions = session.receive(line.bytes, at: ProviderSessionTests.zero)
        #expect(session.state != .closed, "line \(number): \(line.text): \(actions)")
        sent += actions.filter { if case .send = $0 { true } else { false } }
      }
    }
    #expect(session.state == .idle && endpoint.state == .idle && sent.isEmpty)
  }

  /// The call of the session that sends a message.
  private static func actions(of message: AgentMessage, _ session: inout ProviderSession) throws -> [ProviderSession.Action] {
    let now = ProviderSessionTests.zero
    let actions: [ProviderSession.Action] =
      switch message {
      case .credential(let name):
        // The start that follows has it.
        try session.start(
          StartRequest(options: ["server": "vpn.example:9999", "address": "10.9.0.2/24"], mayAsk: true), credentials: [name], at: now)
      case .stop(let reason): session.stop(reason, at: now)
      case .sleep: session.sleep(at: now)
      case .wake: session.wake()
      case .network(let path): try session.networkChanged(path)
      case .applied(let id, let refused): try session.settingsApplied(id: id, refused: refused)
      case .refused(let id, let refusal): try session.refuse(id: id, refusal)
      case .device(let id, let interface, let mtu): try session.deviceOpened(id: id, interface: interface, mtu: mtu)
      case .xfrm(let id, let link): try session.xfrmOpened(id: id, link)
      case .socket(let id): try session.socketOpened(id: id)
      case .addresses(let id, let addresses): try session.resolved(id: id, addresses)
      case .answer(let id, let outcome): try session.answer(id: id, outcome, at: now)
      case .message(_, let content): try session.message(content, at: now).actions
      case .hello, .start: []
      }
    return actions.filter { if case .send = $0 { true } else { false } }
  }

  @Test("what is no message is refused, with the documented reason") func malformed() throws {
    let lines = Self.blocks("malformed").flatMap { $0 }
    #expect(lines.count >= 16 && lines.count % 2 == 0)
    for index in stride(from: 0, to: lines.count - 1, by: 2) {
      do {
        _ = try ProviderMessage(decoding: Array(lines[index].utf8))
        Issue.record("accepted: \(lines[index])")
      } catch { #expect("\(error)" == lines[index + 1]) }
    }
  }

  @Test("the reasons for a stop and the limits are those of the implementation") func lists() {
    #expect(!Self.document.isEmpty)
    for reason in StopReason.allCases { #expect(Self.document.contains("`\(reason.rawValue)`"), "\(reason)") }
    let limits = ProviderSession.Limits()
    for (limit, from, to) in [
      (limits.hello, "start of the program", "hello"), (limits.start, "`start`", "ready"), (limits.stop, "`stop`", "stopped"),
      (limits.sleep, "`sleep`", "asleep"),
    ] {
      #expect(Self.document.contains("| \(limit.components.seconds) s | \(from) | `\(to)`"), "\(from)")
    }
  }
}
