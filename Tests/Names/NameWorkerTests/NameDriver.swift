import Glibc
import LinuxIO
import NameProtocol
import NameServer
import NetworkTypes
import TestSupport

/// `roamward-names` with this test in the agent's place: it hands in sockets and configurations, and reads reports.
final class NameDriver {
  struct Trouble: Error, CustomStringConvertible {
    let description: String
  }

  static let program = ownProgram("roamward-names")

  let process: Int32
  let channel: MessageChannel
  private var reports: [NameReport] = []
  private var number: UInt16 = 100
  /// Every socket that was handed in stays open here, as an agent may keep it.
  private var sockets: [FileDescriptor] = []

  init() throws {
    let (ours, theirs) = try MessageChannel.pair()
    channel = ours
    process = try SpawnedProgram(
      Self.program, ["roamward-names", "--at-work"], environment: [], descriptors: [.nothing, .nothing, .inherited, .open(theirs)],
      company: .group
    ).start()
    guard case .hello(nil) = try next() else { throw Trouble(description: "no hello") }
  }

  deinit {
    kill(process, SIGKILL)
    var status: Int32 = 0
    waitpid(process, &status, 0)
  }

  func send(_ order: NameOrder, _ passed: FileDescriptor? = nil) throws {
    while true {
      do throws(SystemError) { return try channel.send(order.bytes, passing: passed) } catch {
        guard error.code == EAGAIN else { throw error }
        usleep(1000)
      }
    }
  }

  /// The next report that `isWanted`; others are kept.
  func next(within limit: Duration = .seconds(10), where isWanted: (NameReport) -> Bool = { _ in true }) throws -> NameReport {
    let end = Moment.now + limit
    while true {
      if let place = reports.firstIndex(where: isWanted) { return reports.remove(at: place) }
      guard channel.wait(atMost: end - .now) else { throw Trouble(description: "no such report; there are \(reports)") }
      switch try channel.receive() {
      case .message(let bytes, _): reports.append(try NameReport(bytes))
      case .ended: throw Trouble(description: "roamward-names has ended")
      case .nothing: break
      }
    }
  }

  /// Configures it, and waits until that is in use.
  func configure(_ configuration: NameServerConfiguration, domains: [(name: String, disposition: UInt16)] = []) throws {
    try send(.rules(NameRules(configuration)))
    for (name, disposition) in domains { try send(.domains(disposition: disposition, names: [name])) }
    try send(.apply)
    guard case .applied(nil) = try next(where: { if case .applied = $0 { true } else { false } }) else {
      throw Trouble(description: "a fault")
    }
  }

  /// Hands in `count` sockets at random ports of this address, as a pool.
  func addPool(_ pool: UInt16, _ address: String, count: Int = 16) throws {
    var numbers: [UInt16] = []
    for _ in 0..<count {
      number += 1
      numbers.append(number)
      let socket = try boundSocket(SOCK_DGRAM, address, port: 0)
      sockets.append(socket)
      try send(.upstream(number: number), socket)
    }
    try send(.pool(number: pool, v4: numbers, v6: []))
  }

  /// The ports of all sockets for questions to name servers, those of former pools too.
  var ports: [UInt16] {
    sockets.map { socket in
      var v4 = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      _ = withUnsafeMutablePointer(to: &v4) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket.number, $0, &length) }
      }
      return UInt16(bigEndian: v4.sin_port)
    }
  }

  func listen(_ address: String, port: UInt16 = 53) throws {
    let text = AddressText(IPAddress(address) ?? IPAddress(v4: 0))
    try send(.listener(number: 1, address: text, isStream: false, askers: .led), try boundSocket(SOCK_DGRAM, address, port: port))
    let stream = try boundSocket(SOCK_STREAM, address, port: port)
    guard Glibc.listen(stream.number, 16) == 0 else { throw SystemError.last("listen") }
    try send(.listener(number: 2, address: text, isStream: true, askers: .led), stream)
  }

  func counters() throws -> (NameServerCounters, held: Int, open: Int) {
    try send(.count)
    guard case .counters(let counters, let held, let open, _, _) = try next(where: { if case .counters = $0 { true } else { false } })
    else {
      throw Trouble(description: "no counters")
    }
    return (counters, held, open)
  }
}

private func withAddress<Value>(_ address: String, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
  var v4 = sockaddr_in()
  v4.sin_family = sa_family_t(AF_INET)
  v4.sin_port = port.bigEndian
  v4.sin_addr.s_addr = UInt32(truncatingIfNeeded: IPAddress(address)?.low ?? 0).bigEndian
  return withUnsafePointer(to: &v4) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
  }
}

/// A socket bound to an address, non-blocking.
func boundSocket(_ type: __socket_type, _ address: String, port: UInt16) throws -> FileDescriptor {
  let number = socket(AF_INET, Int32(type.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
  guard number >= 0 else { throw SystemError.last("socket") }
  let file = FileDescriptor(owning: number)
  var one: Int32 = 1
  setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &one, 4)
  guard withAddress(address, port, { Glibc.bind(number, $0, $1) }) == 0 else { throw SystemError.last("bind to \(address):\(port)") }
  return file
}

/// A TCP socket connected to an address, blocking until it is.
func connectedSocket(_ address: String, port: UInt16) throws -> FileDescriptor {
  let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  guard number >= 0 else { throw SystemError.last("socket") }
  let file = FileDescriptor(owning: number)
  guard withAddress(address, port, { connect(number, $0, $1) }) == 0 else { throw SystemError.last("connect to \(address):\(port)") }
  _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
  return file
}

/// A line of sh(1) that runs beside the test, and writes to a file.
final class Background {
  private let process: Int32
  private let folder: TemporaryFolder
  private var isReaped = false

  init(_ line: String) throws {
    folder = try TemporaryFolder()
    process = try SpawnedProgram(
      "/bin/sh", ["/bin/sh", "-c", "exec >\(folder.path)/out 2>&1; \(line)"],
      environment: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], descriptors: [.nothing, .nothing, .nothing],
      company: .group
    ).start()
  }

  deinit {
    kill(-process, SIGKILL)
    if !isReaped { reap() }
  }

  private func reap() {
    var status: Int32 = 0
    waitpid(process, &status, 0)
    isReaped = true
  }

  /// Waits for its end; what it wrote.
  func output() throws -> String {
    if !isReaped { reap() }
    return try written()
  }

  func written() throws -> String { String(decoding: try TextFile.read("\(folder.path)/out", limit: 1 << 22), as: UTF8.self) }
}
