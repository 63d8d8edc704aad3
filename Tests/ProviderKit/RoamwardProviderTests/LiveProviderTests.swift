import Glibc
import JSON
import LinuxIO
import NetworkTypes
import ProviderProtocol
import RoamwardProvider
import TestSupport
import Testing

/// The examples as processes, in Swift and in Python, by the same test.
@Suite(.serialized) struct LiveProviderTests {
  /// The folder of the built programs.
  static let folder: String = {
    let bytes = (try? TextFile.read("/proc/self/cmdline")) ?? []
    let program = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let real = realpath(program, &path).map { String(cString: $0) } ?? program
    return Folder.parent(of: real)
  }()

  /// Those beside the test bundle, which may stand elsewhere than where it was built.
  static let examples: String = {
    let built = realpath("/proc/self/exe", nil).map { path in
      defer { free(path) }
      return String(cString: path).split(separator: "/").dropLast(4)
    }
    let folders = [built, #filePath.split(separator: "/").dropLast(4)].compactMap { $0 }.map { $0.reduce("") { $0 + "/" + $1 } }
    return (folders.first { access("\($0)/examples/providers", R_OK) == 0 } ?? "") + "/examples/providers"
  }()

  enum Program: String, CaseIterable, Sendable {
    case swift, python

    /// Those that this machine can run.
    static let available = (try? shell("command -v python3")) == nil ? [swift] : allCases

    /// The program and its arguments.
    var command: [String] {
      switch self {
      case .swift: ["\(folder)/plain-udp"]
      case .python: ["python3", "\(examples)/plain-udp/plain-udp.py"]
      }
    }

    func agent() throws -> LiveAgent { try LiveAgent(command[0], Array(command.dropFirst())) }
  }

  static let packet: [UInt8] = [0x45, 0, 0, 24] + [UInt8](repeating: 7, count: 20)

  @Test("the whole life: start, packets both ways, a message, sleep, stop, another start, the end", arguments: Program.available)
  func life(program: Program) throws {
    let server = try PlainServer()
    let agent = try program.agent()
    try agent.pump("it greets") { agent.session.state == .idle }
    #expect(agent.session.program.hasPrefix("plain-udp"))
    for run in 1...2 {
      try agent.start(
        StartRequest(options: ["server": .string("server.example:\(server.port)"), "address": "10.9.0.2/24", "routes": ["10.9.0.0/24"]]),
        credentials: ["unused": [1, 2, 3]])
      try agent.pump("it connects") {
        server.serve()
        return agent.session.state == .connected
      }
      #expect(
        agent.settings?.remoteAddress == IPAddress("127.0.0.1")
          && agent.settings?.includedRoutes == [IPPrefix("10.9.0.0/24")].compactMap(\.self))
      let device = try #require(agent.device)
      for _ in 0..<5 { try device.send(Self.packet) }
      try agent.pump("the server has the packets") {
        server.serve()
        return server.received.count >= 5 * run
      }
      #expect(server.received.allSatisfy { $0 == Self.packet })
      server.send([0x55])
      server.send(Self.packet)
      var written: [[UInt8]] = []
      try agent.pump("the machine has the packet") {
        if case .message(let bytes, _) = try device.receive() { written.append(bytes) }
        return !written.isEmpty
      }
      #expect(written == [Self.packet])
      let known = try agent.send(.typed("statistics", .null))
      let unknown = try agent.send(.bytes([1]))
      try agent.pump("messages are answered") { agent.replies.count == 4 * run - 2 }
      guard case .success(.typed("statistics", let value)) = agent.replies[known], case .failure(let refusal) = agent.replies[unknown]
      else {
        Issue.record("\(agent.replies)")
        return
      }
      #expect(value["connected"] == true && refusal.code == "unknown-type")
      try agent.networkChanged(nil)
      try agent.networkChanged(NetworkPath(interface: "eth0", kind: .ethernet))
      try agent.sleep()
      _ = try agent.send(.typed("statistics", .null))
      try agent.pump("the last message is answered") { agent.replies.count == 4 * run - 1 }
      try agent.stop()
      try agent.pump("it stops") { agent.ends.count == run }
      _ = try agent.send(.typed("statistics", .null))
      try agent.pump("a message is answered in idle") { agent.replies.count == 4 * run }
    }
    #expect(agent.ends == [.stopped(inTime: true), .stopped(inTime: true)] && agent.violations.isEmpty)
    #expect(try agent.end() == 0)
  }

  @Test("options that are wrong, and a name that has no address, fail the start", arguments: Program.available)
  func wrong(program: Program) throws {
    let agent = try program.agent()
    try agent.pump("it greets") { agent.session.state == .idle }
    try agent.start(StartRequest(options: ["server": "nowhere"]))
    try agent.pump("it fails") { agent.ends.count == 1 }
    try agent.start(StartRequest(options: ["server": "other.example:9", "address": "10.9.0.2/24"]))
    try agent.pump("it fails again") { agent.ends.count == 2 }
    let codes = agent.ends.map { if case .failed(let failure) = $0 { failure.code } else { Word("none") } }
    #expect(codes == ["invalid-options", "unresolved"] && agent.violations.isEmpty)
  }

  @Test("a program without a channel says that it is a provider, and ends") func alone() throws {
    let outcome = try run(["\(Self.folder)/plain-udp"])
    #expect(outcome.code == 1 && outcome.output.contains("this is a provider: the agent starts it"), "\(outcome)")
  }
}
