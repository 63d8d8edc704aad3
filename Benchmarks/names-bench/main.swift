import CDatagrams
import Glibc
import LinuxIO
import NameProtocol
import NameServer
import NetworkTypes

// For Benchmarks/names: a name server that knows every name, a load of questions, and the agent's part for roamward-names.

private let usage = """
  usage: names-bench answer ADDRESS
         names-bench load ADDRESS SECONDS NAMES WINDOW
         names-bench names PROGRAM ADDRESS SERVER [DOMAINS]
         names-bench ask ADDRESS NAME REPEAT [MARK]
         names-bench relay ADDRESS PORT SERVER DELAY
         names-bench domains COUNT

  answer  answers each question at port 53 with an A record of an hour.
  load    asks NAMES different names again and again (0: never one twice), WINDOW at a time; prints answers a second.
  names   starts roamward-names on an address, forwarding to a server, with rules for so many domains, and prints its process.
  ask     asks for the A records of a name until there are some, again after so many milliseconds; prints how many the answer took.
  relay   passes datagrams on to the same port of a server and back, each after so many microseconds; for one client.
  domains looks names up in the name server's list of so many domains; prints the nanoseconds of each, and the list's megabytes.

  """

struct Failure: Error, CustomStringConvertible { let description: String }

func bound(_ type: __socket_type, _ address: IPAddress, _ port: UInt16) throws -> FileDescriptor {
  let number = socket(AF_INET, Int32(type.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
  guard number >= 0 else { throw SystemError.last("socket") }
  var one: Int32 = 1
  var room: Int32 = 4 << 20
  setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &one, 4)
  setsockopt(number, SOL_SOCKET, SO_RCVBUFFORCE, &room, 4)
  setsockopt(number, SOL_SOCKET, SO_SNDBUFFORCE, &room, 4)
  var v4 = sockaddr_in()
  v4.sin_family = sa_family_t(AF_INET)
  v4.sin_port = port.bigEndian
  v4.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.low).bigEndian
  let result = withUnsafePointer(to: &v4) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
  }
  guard result == 0 else { throw SystemError.last("bind to \(address):\(port)") }
  return FileDescriptor(owning: number)
}

/// A socket with room for a batch.
private struct Batch {
  static let size = 512
  let socket: FileDescriptor
  var bytes = [UInt8](repeating: 0, count: size * Int(CDATAGRAMS_BATCH))
  var datagrams = [cdatagrams_datagram](repeating: cdatagrams_datagram(), count: Int(CDATAGRAMS_BATCH))

  /// Waits for datagrams, 50 ms at most.
  mutating func receive() -> Int {
    while true {
      let limit = UInt32(datagrams.count)
      let count = bytes.withUnsafeMutableBufferPointer { cdatagrams_receive(socket.number, $0.baseAddress, Self.size, &datagrams, limit) }
      if count > 0 { return Int(count) }
      var entry = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
      if poll(&entry, 1, 50) <= 0 { return 0 }
    }
  }

  func send(_ count: Int) -> Int {
    var sent = 0
    while sent < count {
      let result = bytes.withUnsafeBufferPointer { bytes in
        datagrams.withUnsafeBufferPointer {
          cdatagrams_send(socket.number, bytes.baseAddress, $0.baseAddress.map { $0 + sent }, UInt32(count - sent))
        }
      }
      guard result > 0 else { break }
      sent += Int(result)
    }
    return sent
  }
}

private func answer(_ address: IPAddress) throws {
  var batch = Batch(socket: try bound(SOCK_DGRAM, address, 53))
  let record: [UInt8] = [0xc0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4, 198, 51, 100, 7]
  while true {
    let count = batch.receive()
    for i in 0..<count {
      let start = Int(batch.datagrams[i].offset)
      var end = start + 12
      while batch.bytes[end] > 0, end < start + 300 { end += 1 + Int(batch.bytes[end]) }
      end += 5
      batch.bytes[start + 2] = 0x81
      batch.bytes[start + 3] = 0x80
      batch.bytes[start + 7] = 1
      batch.bytes[start + 11] = 0
      for (j, byte) in record.enumerated() { batch.bytes[end + j] = byte }
      batch.datagrams[i].length = UInt32(end + record.count - start)
    }
    _ = batch.send(count)
  }
}

private func load(_ address: IPAddress, seconds: Int, names: Int, window: Int) throws {
  var batch = Batch(socket: try bound(SOCK_DGRAM, IPAddress(v4: 0x7f00_0001), 0))
  var next = 0
  func put(_ place: Int) {
    let number = names > 0 ? next % names : next
    next += 1
    let start = place * Batch.size
    let head: [UInt8] = [UInt8(next >> 8 & 0xff), UInt8(next & 0xff), 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 9]
    for (i, byte) in head.enumerated() { batch.bytes[start + i] = byte }
    for i in 0..<8 { batch.bytes[start + 13 + i] = UInt8(97 + number >> (4 * i) & 15) }
    batch.bytes[start + 21] = 120
    let tail: [UInt8] = [5, 98, 101, 110, 99, 104, 7, 101, 120, 97, 109, 112, 108, 101, 0, 0, 1, 0, 1]
    for (i, byte) in tail.enumerated() { batch.bytes[start + 22 + i] = byte }
    batch.datagrams[place] = cdatagrams_datagram(
      high: 0, low: address.low, offset: UInt32(start), length: UInt32(22 + tail.count), port: 53, is_v6: 0, is_invalid: 0)
  }
  func ask(_ count: Int) {
    var left = count
    while left > 0 {
      let part = min(left, Int(CDATAGRAMS_BATCH))
      for i in 0..<part { put(i) }
      _ = batch.send(part)
      left -= part
    }
  }
  var answers = 0, empty = 0
  let start = Moment.now
  let end = start + .seconds(Int64(seconds))
  ask(window)
  while Moment.now < end {
    let count = batch.receive()
    // Lost ones are replaced when nothing comes any more.
    if count == 0 { empty += 1 }
    answers += count
    ask(count == 0 ? window : count)
  }
  let duration = Double(max(1, (Moment.now - start).milliseconds)) / 1000
  print(Int(Double(answers) / duration), empty)
}

private func names(_ program: String, _ address: IPAddress, _ server: IPAddress, domains: Int) throws {
  let (channel, theirs) = try MessageChannel.pair()
  let process = try SpawnedProgram(
    program, ["roamward-names", "--at-work"], environment: [], descriptors: [.nothing, .nothing, .inherited, .open(theirs)], company: .group
  ).start()
  for i in 1...64 as ClosedRange<UInt16> {
    try channel.send(NameOrder.upstream(number: i).bytes, passing: try bound(SOCK_DGRAM, IPAddress(v4: 0x7f00_0001), 0))
    _ = channel.wait(atMost: .milliseconds(5))
  }
  let configuration = NameServerConfiguration(
    groups: [UpstreamGroup(servers: [Upstream(server)], pool: 0)], dispositions: [.refuse], rest: .forward(group: 0))
  try channel.send(NameOrder.pool(number: 0, v4: Array(1...64), v6: []).bytes)
  try channel.send(NameOrder.rules(NameRules(configuration)).bytes)
  for start in stride(from: 0, to: domains, by: NameLimits.domains) {
    let names = (start..<min(domains, start + NameLimits.domains)).map { "host-number-\($0).domain.test" }
    while (try? channel.send(NameOrder.domains(disposition: 0, names: names).bytes)) == nil { usleep(1000) }
  }
  while (try? channel.send(NameOrder.apply.bytes)) == nil { usleep(1000) }
  try channel.send(
    NameOrder.listener(number: 0, address: AddressText(address), isStream: false, askers: .led).bytes,
    passing: try bound(SOCK_DGRAM, address, 53))
  try FileDescriptor(owning: dup(STDOUT_FILENO)).writeAll(Array("\(process)\n".utf8))
  while case .message = try channel.receive() {}
  while channel.wait(atMost: .seconds(3600)) {
    if case .ended = try channel.receive() { throw Failure(description: "roamward-names has ended") }
  }
}

private func address(_ text: String) throws -> IPAddress {
  guard let address = IPAddress(text) else { throw Failure(description: "\(text) is no address") }
  return address
}

private func run(_ arguments: [String]) throws {
  switch (arguments.first, arguments.count) {
  case ("answer", 2): try answer(address(arguments[1]))
  case ("load", 5):
    try load(address(arguments[1]), seconds: Int(arguments[2]) ?? 3, names: Int(arguments[3]) ?? 0, window: Int(arguments[4]) ?? 128)
  case ("names", 4...5):
    let domains = arguments.count > 4 ? Int(arguments[4]) ?? 0 : 0
    try names(arguments[1], address(arguments[2]), address(arguments[3]), domains: domains)
  case ("ask", 4...5):
    let mark = arguments.count > 4 ? UInt32(arguments[4]) ?? 0 : 0
    try ask(address(arguments[1]), name: arguments[2], repeating: Int32(arguments[3]) ?? 5000, mark: mark)
  case ("relay", 5):
    try relay(
      address(arguments[1]), port: UInt16(arguments[2]) ?? 0, to: address(arguments[3]), after: .microseconds(Int64(arguments[4]) ?? 0))
  case ("domains", 2): try lookUp(among: Int(arguments[1]) ?? 1_000_000)
  default: throw Failure(description: usage)
  }
}

do { try run(Array(CommandLine.arguments.dropFirst())) } catch {
  print("names-bench: \(error)")
  exit(1)
}
