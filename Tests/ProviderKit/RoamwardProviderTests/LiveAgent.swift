import Glibc
import LinuxIO
import NetworkTypes
import ProviderProtocol

/// The agent's part with a provider's real process: the pure session, a channel, sockets of the loopback interface, and a pair of sockets
/// in place of a TUN device.
final class LiveAgent {
  private(set) var session: ProviderSession
  private(set) var ends: [ProviderSession.RunEnd] = []
  private(set) var replies: [UInt32: MessageReply] = [:]
  private(set) var violations: [ProtocolViolation] = []
  private(set) var settings: TunnelSettings?
  /// The machine's end of the device.
  private(set) var device: MessageChannel?
  private(set) var exitCode: Int32?
  /// Makes a TUN device; `nil`: a pair of sockets stands for it.
  var makeDevice: (() throws -> FileDescriptor)?

  private let process: Int32
  private let channel: MessageChannel
  private var granted: [UInt32: FileDescriptor] = [:]
  private var credentials: [Word: [UInt8]] = [:]

  init(_ program: String, _ arguments: [String] = []) throws {
    let (ours, theirs) = try MessageChannel.pair()
    channel = ours
    let environment = ["PATH=/usr/local/bin:/usr/bin:/bin"]
    process = try SpawnedProgram(
      program, [program] + arguments, environment: environment, descriptors: [.nothing, .nothing, .inherited, .open(theirs)],
      company: .group
    ).start()
    session = ProviderSession(tunnel: "live", at: .now)
  }

  deinit {
    guard exitCode == nil else { return }
    kill(process, SIGKILL)
    var status: Int32 = 0
    waitpid(process, &status, 0)
  }

  func start(_ request: StartRequest, credentials: [Word: [UInt8]] = [:]) throws {
    self.credentials = credentials
    try perform(try session.start(request, credentials: credentials.keys.sorted(), at: .now))
  }

  func stop() throws { try perform(session.stop(.person, at: .now)) }

  func sleep() throws { try perform(session.sleep(at: .now)) }

  func networkChanged(_ path: NetworkPath?) throws { try perform(try session.networkChanged(path)) }

  func send(_ content: MessageContent) throws -> UInt32 {
    let (id, actions) = try session.message(content, at: .now)
    try perform(actions)
    return id
  }

  func forgetDevice() { granted = [:] }

  /// Closes the channel's writing side and waits for the process to end.
  func end() throws -> Int32 {
    shutdown(channel.descriptor.number, Int32(SHUT_RDWR))
    var status: Int32 = 0
    for _ in 0..<1000 {
      if waitpid(process, &status, WNOHANG) == process {
        exitCode = status & 0x7f == 0 ? status >> 8 & 0xff : 128 + (status & 0x7f)
        return exitCode ?? -1
      }
      usleep(10_000)
    }
    throw SystemError(code: ETIMEDOUT, operation: "wait for the provider's end")
  }

  /// Takes messages until the condition holds, for a minute at most.
  func pump(_ what: String, until condition: () throws -> Bool) throws {
    let end = Moment.now + .seconds(60)
    while try !condition() {
      guard Moment.now < end else {
        throw SystemError(code: ETIMEDOUT, operation: "wait until \(what) (\(session.state), \(ends), \(violations))")
      }
      _ = channel.wait(atMost: .milliseconds(20))
      switch try channel.receive(takesDescriptors: true) {
      case .message(let bytes, let descriptor): try perform(session.receive(bytes, hasDescriptor: descriptor != nil, at: .now))
      case .nothing: try perform(session.advance(to: .now))
      case .ended: try perform(session.channelClosed())
      }
    }
  }

  private func perform(_ actions: [ProviderSession.Action]) throws {
    for action in actions {
      switch action {
      case .send(let bytes, let attachment): try channel.send(bytes, passing: try attachment.map(descriptor))
      case .apply(let id, let wanted):
        settings = wanted
        try perform(try session.settingsApplied(id: id))
      case .openDevice(let id):
        if let makeDevice {
          granted[id] = try makeDevice()
        } else {
          let (ours, theirs) = try MessageChannel.pair()
          (device, granted[id]) = (ours, theirs)
        }
        try perform(try session.deviceOpened(id: id, interface: "live0", mtu: 1400))
      case .openSocket(let id, let transport, let remote):
        granted[id] = try Loopback.connected(transport, to: remote)
        try perform(try session.socketOpened(id: id))
      case .resolve(let id, let name):
        if name.text == "server.example" {
          try perform(try session.resolved(id: id, [IPAddress(v4: 0x7f00_0001)]))
        } else {
          try perform(try session.refuse(id: id, Refusal(code: "unresolved", text: "no address")))
        }
      case .ask(let id, _): try perform(try session.answer(id: id, .answered, at: .now))
      case .runEnded(let end): ends.append(end)
      case .replied(let id, let reply): replies[id] = reply
      case .violated(let violation): violations.append(violation)
      default: break
      }
    }
  }

  private func descriptor(_ attachment: ProviderSession.Attachment) throws -> FileDescriptor {
    switch attachment {
    case .credential(let name): return try Loopback.readable(credentials[name] ?? [])
    case .secret: return try Loopback.readable(Array("123456".utf8))
    case .granted(let id):
      guard let file = granted.removeValue(forKey: id) else { throw SystemError(code: EBADF, operation: "attach what was not granted") }
      return file
    }
  }
}

/// Sockets of 127.0.0.1, for both ends.
enum Loopback {
  static func readable(_ bytes: [UInt8]) throws -> FileDescriptor {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw SystemError.last("make a pipe") }
    let writing = FileDescriptor(owning: ends[1])
    _ = try writing.write(bytes[...])
    return FileDescriptor(owning: ends[0])
  }

  private static func address(_ port: UInt16) -> sockaddr_in {
    sockaddr_in(
      sin_family: sa_family_t(AF_INET), sin_port: port.bigEndian, sin_addr: in_addr(s_addr: UInt32(0x7f00_0001).bigEndian),
      sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
  }

  private static func with<Value>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
    var name = address(port)
    return withUnsafePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  private static func make(_ transport: Transport) throws -> FileDescriptor {
    let kind = transport == .udp ? SOCK_DGRAM : SOCK_STREAM
    let number = socket(AF_INET, Int32(kind.rawValue), 0)
    guard number >= 0 else { throw SystemError.last("make a socket") }
    return FileDescriptor(owning: number)
  }

  static func connected(_ transport: Transport, to remote: Endpoint) throws -> FileDescriptor {
    let file = try make(transport)
    guard with(remote.port, { connect(file.number, $0, $1) }) == 0 else { throw SystemError.last("connect to \(remote)") }
    return file
  }

  /// A server's socket, and its port.
  static func server(_ transport: Transport) throws -> (FileDescriptor, UInt16) {
    let file = try make(transport)
    guard with(0, { bind(file.number, $0, $1) }) == 0 else { throw SystemError.last("bind") }
    if transport == .tcp, listen(file.number, 4) != 0 { throw SystemError.last("listen") }
    var name = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(file.number, $0, &size) }
    }
    guard result == 0 else { throw SystemError.last("ask for the port") }
    return (file, UInt16(bigEndian: name.sin_port))
  }
}

/// A server of the example `plain-udp` with one client.
final class PlainServer {
  let port: UInt16
  private let file: FileDescriptor
  private var client: sockaddr_storage?
  private(set) var received: [[UInt8]] = []
  private(set) var questions = 0
  /// Whether packets are pings to be answered, and not kept.
  var answersPings = false

  init() throws { (file, port) = try Loopback.server(.udp) }

  /// Takes what has come; answers questions.
  func serve() {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      var name = sockaddr_storage()
      var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let count = withUnsafeMutablePointer(to: &name) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          recvfrom(file.number, &buffer, buffer.count, Int32(MSG_DONTWAIT), $0, &size)
        }
      }
      guard count >= 0 else { return }
      client = name
      if buffer.prefix(count) == [0] {
        questions += 1
        send([1])
      } else if answersPings {
        if let answer = Self.pong(Array(buffer.prefix(count))) { send(answer) }
      } else {
        received.append(Array(buffer.prefix(count)))
      }
    }
  }

  /// The answer to an ICMP echo request; `nil` for anything else, such as the kernel's router solicitations.
  private static func pong(_ packet: [UInt8]) -> [UInt8]? {
    guard packet.count >= 28, packet[0] == 0x45, packet[9] == 1, packet[20] == 8 else { return nil }
    var answer = packet
    answer.replaceSubrange(12..<16, with: packet[16..<20])
    answer.replaceSubrange(16..<20, with: packet[12..<16])
    answer[20] = 0
    // The type was 8: the checksum, a sum of inverted words, grows by as much (RFC 1624).
    let sum = UInt32(packet[22]) << 8 + UInt32(packet[23]) + 0x0800
    let folded = sum & 0xffff + sum >> 16
    (answer[22], answer[23]) = (UInt8(folded >> 8 & 0xff), UInt8(folded & 0xff))
    return answer
  }

  func send(_ bytes: [UInt8]) {
    guard var client else { return }
    _ = withUnsafePointer(to: &client) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(file.number, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
