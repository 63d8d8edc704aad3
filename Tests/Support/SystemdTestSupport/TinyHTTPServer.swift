internal import Glibc
internal import LinuxIO
package import SystemdIO

/// Says what it is told to whoever asks, on a test's own loop: whatever a real server, or an evil one, may say.
package final class TinyHTTPServer {
  package enum Answer {
    /// Then it hangs up.
    case text(String)
    /// Then it sends this many bytes more, as fast as they are taken, and hangs up.
    case flood(String, bytes: Int)
    /// Then it says nothing more, and stays.
    case stay(String)
    case hangUp
  }

  package let port: UInt16
  /// The requests, headers and all.
  package private(set) var requests: [String] = []
  /// Bytes that were taken.
  package private(set) var sent = 0
  private let socket: FileDescriptor
  private let answer: (String) -> Answer
  private var listening: EventSource?
  private var connections: [Int32: (FileDescriptor, [EventSource])] = [:]

  /// Listens at an address of this network namespace, on a free port where none is given.
  package init(on loop: EventLoop, address: String = "127.0.0.1", port: UInt16 = 0, answer: @escaping (String) -> Answer) throws {
    self.answer = answer
    let isV6 = address.contains(":")
    socket = FileDescriptor(
      owning: Glibc.socket(isV6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
    var on: Int32 = 1
    setsockopt(socket.number, SOL_SOCKET, SO_REUSEADDR, &on, 4)
    self.port = try isV6 ? bind6(socket.number, address, port) : bind4(socket.number, address, port)
    guard listen(socket.number, 8) == 0 else { throw SystemError.last("listen") }
    listening = try loop.whenReadable(socket.number) { [weak self] in self?.accept(on: loop) }
  }

  private func accept(on loop: EventLoop) {
    guard let connection = try? socket.accept() else { return }
    var request: [UInt8] = []
    let source = try? loop.whenReadable(connection.number) { [weak self] in
      guard let self, let bytes = try? connection.read(), !bytes.isEmpty else {
        self?.connections[connection.number] = nil
        return
      }
      request += bytes
      if request.suffix(4).elementsEqual("\r\n\r\n".utf8) { self.reply(to: String(decoding: request, as: UTF8.self), connection, on: loop) }
    }
    connections[connection.number] = (connection, [source].compactMap { $0 })
  }

  private func reply(to request: String, _ connection: FileDescriptor, on loop: EventLoop) {
    requests.append(request)
    switch answer(request) {
    case .hangUp: connections[connection.number] = nil
    case .stay(let text): send(text, connection)
    case .text(let text):
      send(text, connection)
      connections[connection.number] = nil
    case .flood(let text, let bytes):
      send(text, connection)
      var rest = bytes
      // A descriptor is watched once at a time.
      for source in connections[connection.number]?.1 ?? [] { source.cancel() }
      let source = try? loop.whenWritable(connection.number) { [weak self] in
        let chunk = [UInt8](repeating: 0x78, count: min(rest, 65_536))
        guard let self, let count = try? connection.write(chunk[...]), rest > 0 else {
          self?.connections[connection.number] = nil
          return
        }
        rest -= count
        sent += count
      }
      connections[connection.number]?.1 = [source].compactMap { $0 }
    }
  }

  private func send(_ text: String, _ connection: FileDescriptor) { _ = try? connection.write(Array(text.utf8)[...]) }
}

private func bind4(_ socket: Int32, _ text: String, _ port: UInt16) throws -> UInt16 {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  inet_pton(AF_INET, text, &address.sin_addr)
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let result = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      Glibc.bind(socket, $0, length) == 0 ? getsockname(socket, $0, &length) : -1
    }
  }
  guard result == 0 else { throw SystemError.last("bind") }
  return UInt16(bigEndian: address.sin_port)
}

private func bind6(_ socket: Int32, _ text: String, _ port: UInt16) throws -> UInt16 {
  var address = sockaddr_in6()
  address.sin6_family = sa_family_t(AF_INET6)
  address.sin6_port = port.bigEndian
  inet_pton(AF_INET6, text, &address.sin6_addr)
  var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
  let result = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      Glibc.bind(socket, $0, length) == 0 ? getsockname(socket, $0, &length) : -1
    }
  }
  guard result == 0 else { throw SystemError.last("bind") }
  return UInt16(bigEndian: address.sin6_port)
}
