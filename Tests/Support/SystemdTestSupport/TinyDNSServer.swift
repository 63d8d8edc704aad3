internal import Glibc
internal import LinuxIO
package import NetworkTypes
package import SystemdIO

/// Answers questions on 127.0.0.1, on a test's own loop, over UDP and TCP.
package final class TinyDNSServer {
  package enum Answer {
    case addresses([IPAddress])
    /// An alias without an address of the asked type behind it.
    case alias
    case noData
    case noSuchName
    case failure
    /// Too long for UDP; over TCP, these addresses.
    case truncated([IPAddress])
    case silence
  }

  package enum Kind: UInt8 {
    case a = 1
    case aaaa = 28
  }

  package let port: UInt16
  package private(set) var questions: [String] = []
  private let udp: FileDescriptor
  private let tcp: FileDescriptor
  private let answer: (String, Kind) -> Answer
  private var sources: [EventSource] = []
  private var connections: [(FileDescriptor, EventSource)] = []

  package init(on loop: EventLoop, answer: @escaping (String, Kind) -> Answer) throws {
    self.answer = answer
    (udp, tcp, port) = try socketsOfOnePort()
    guard listen(tcp.number, 8) == 0 else { throw SystemError.last("listen") }
    sources = [
      try loop.whenReadable(udp.number) { [weak self] in self?.answerDatagram() },
      try loop.whenReadable(tcp.number) { [weak self] in self?.takeConnection(on: loop) },
    ]
  }

  private func answerDatagram() {
    var buffer = [UInt8](repeating: 0, count: 512)
    var from = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let count = withUnsafeMutablePointer(to: &from) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { recvfrom(udp.number, &buffer, buffer.count, 0, $0, &length) }
    }
    guard count > 0, let reply = reply(to: Array(buffer.prefix(count)), overTCP: false) else { return }
    _ = withUnsafePointer(to: &from) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { sendto(udp.number, reply, reply.count, 0, $0, length) }
    }
  }

  private func takeConnection(on loop: EventLoop) {
    guard let connection = try? tcp.accept() else { return }
    let source = try? loop.whenReadable(connection.number) { [weak self] in
      guard let self, let bytes = try? connection.read(), bytes.count > 14 else {
        self?.connections.removeAll { $0.0 === connection }
        return
      }
      // Each question arrives whole, but two of them may come together.
      var rest = bytes[...]
      while rest.count > 14 {
        let length = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
        let question = Array(rest.dropFirst(2).prefix(length))
        rest = rest.dropFirst(2 + length)
        if let reply = self.reply(to: question, overTCP: true) {
          try? connection.writeAll([UInt8(reply.count >> 8), UInt8(reply.count & 0xff)] + reply)
        }
      }
    }
    if let source { connections.append((connection, source)) }
  }

  private func reply(to query: [UInt8], overTCP: Bool) -> [UInt8]? {
    var labels: [String] = []
    var at = 12
    while at < query.count, query[at] != 0 {
      labels.append(String(decoding: query[(at + 1)..<(at + 1 + Int(query[at]))], as: UTF8.self))
      at += 1 + Int(query[at])
    }
    guard at + 5 <= query.count, let kind = Kind(rawValue: query[at + 2]) else { return nil }
    let name = labels.joined(separator: ".")
    questions.append("\(name) \(kind)" + (overTCP ? " tcp" : ""))

    var (flags, code, records): (UInt8, UInt8, [[UInt8]]) = (0x81, 0, [])
    switch answer(name, kind) {
    case .silence: return nil
    case .noData: break
    case .noSuchName: code = 3
    case .failure: code = 2
    case .truncated where !overTCP: flags |= 0x02
    case .addresses(let addresses), .truncated(let addresses):
      records = addresses.filter { $0.bytes.count == (kind == .a ? 4 : 16) }.map { record(kind.rawValue, $0.bytes) }
    case .alias: records = [record(5, [5] + "other".utf8 + [0xc0, 12])]
    }
    let counts: [UInt8] = [0, 1, 0, UInt8(records.count), 0, 0, 0, 0]
    return Array(query[0..<2]) + [flags, 0x80 | code] + counts + query[12..<(at + 5)] + records.flatMap { $0 }
  }

  /// A record of the asked name.
  private func record(_ type: UInt8, _ data: [UInt8]) -> [UInt8] { [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, UInt8(data.count)] + data }
}

/// A port that is free for UDP may be taken for TCP by somebody else's connection: another one is tried then.
private func socketsOfOnePort() throws -> (udp: FileDescriptor, tcp: FileDescriptor, port: UInt16) {
  var failure: any Error = SystemError.last("bind")
  for _ in 0..<64 {
    let udp = FileDescriptor(owning: socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
    let tcp = FileDescriptor(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
    // A connection that has ended may still keep the port that UDP has found free.
    var on: Int32 = 1
    setsockopt(tcp.number, SOL_SOCKET, SO_REUSEADDR, &on, 4)
    do {
      let port = try bindToLoopback(udp.number, port: 0)
      _ = try bindToLoopback(tcp.number, port: port)
      return (udp, tcp, port)
    } catch { failure = error }
  }
  throw failure
}

private func bindToLoopback(_ socket: Int32, port: UInt16) throws -> UInt16 {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
  address.sin_port = port.bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let result = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      Glibc.bind(socket, address, length) == 0 ? getsockname(socket, address, &length) : -1
    }
  }
  guard result == 0 else { throw SystemError.last("bind") }
  return UInt16(bigEndian: address.sin_port)
}
