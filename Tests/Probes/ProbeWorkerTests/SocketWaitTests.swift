import Glibc
import LinuxIO
import NetworkTypes
import ProbeProtocol
import Testing

/// `roamward-probe` with this test in the agent's place.
private final class ProbeDriver {
  struct Trouble: Error { let description: String }

  private let process: Int32
  private let channel: MessageChannel

  init() throws {
    let (ours, theirs) = try MessageChannel.pair()
    channel = ours
    process = try SpawnedProgram(
      ownProgram("roamward-probe"), ["roamward-probe", "--at-work"], environment: [],
      descriptors: [.nothing, .nothing, .nothing, .open(theirs)], company: .group
    ).start()
    guard case .hello(nil) = try next() else { throw Trouble(description: "no hello") }
  }

  deinit {
    kill(process, SIGKILL)
    var status: Int32 = 0
    waitpid(process, &status, 0)
  }

  func send(_ message: AgentMessage, _ passed: FileDescriptor? = nil) throws { try channel.send(message.bytes, passing: passed) }

  func next() throws -> HelperMessage {
    guard channel.wait(atMost: .seconds(20)), case .message(let bytes, _) = try channel.receive() else {
      throw Trouble(description: "no message")
    }
    return try HelperMessage(bytes)
  }

  /// The task that the next message wants a socket for, and the socket's number.
  func wish() throws -> (errand: UInt32, number: UInt32) {
    guard case .wish(let wish) = try next() else { throw Trouble(description: "no wish") }
    return (wish.errand, wish.number)
  }
}

@Suite("Waiting for a socket of the agent")
struct SocketWaitTests {
  enum Kind: CaseIterable {
    case transfer, lookUp

    fileprivate func errand() throws -> Errand {
      let server = IPAddress(v4: 0xc000_0201)
      switch self {
      case .transfer: return .transfer(Transfer(url: "http://192.0.2.1/", addresses: [server]))
      case .lookUp: return .lookUp(LookUp(try #require(DomainName("name.example")), servers: [Destination(server, port: 53)]))
      }
    }

    fileprivate var socketType: __socket_type { self == .transfer ? SOCK_STREAM : SOCK_DGRAM }
  }

  /// A socket whose other end says nothing, and that end.
  private func silence(_ type: __socket_type) throws -> (FileDescriptor, FileDescriptor) {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(type.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw SystemError.last("socketpair")
    }
    return (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
  }

  @Test(
    "a task that arrives meanwhile is begun although the first stays unanswered", arguments: Kind.allCases, Kind.allCases)
  func meanwhile(first: Kind, second: Kind) throws {
    let driver = try ProbeDriver()
    try driver.send(.errand(1, first.errand()))
    let wish = try driver.wish()
    #expect(wish.errand == 1)
    try driver.send(.errand(2, second.errand()))
    let (socket, far) = try silence(first.socketType)
    try driver.send(.socket(wish: wish.number, trouble: nil), socket)
    #expect(try driver.wish().errand == 2)
    withExtendedLifetime(far) {}
  }

  @Test("a cancellation that arrives meanwhile is done at once", arguments: Kind.allCases)
  func cancelled(kind: Kind) throws {
    let driver = try ProbeDriver()
    try driver.send(.errand(1, kind.errand()))
    let wish = try driver.wish()
    try driver.send(.cancel(1))
    let (socket, far) = try silence(kind.socketType)
    try driver.send(.socket(wish: wish.number, trouble: nil), socket)
    #expect(try driver.next() == .answer(1, .cancelled))
    withExtendedLifetime(far) {}
  }
}
