import ConfinedProcess
import Glibc
import LinuxIO
import ProbeProtocol
import Testing

/// The process that serves the script, with connections that send nothing.
@Suite struct ScriptServerTests {
  private static let request = Array("GET /proxy.pac HTTP/1.1\r\nHost: 127.82.0.80:82\r\n\r\n".utf8)

  private func connected(to address: sockaddr_in) throws -> FileDescriptor {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let file = FileDescriptor(owning: number)
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var address = address
    let result = withUnsafeBytes(of: &address) { bytes in
      bytes.baseAddress.map { connect(number, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) } ?? -1
    }
    try #require(result == 0)
    return file
  }

  /// The first line of the answer; empty: the connection was closed.
  private func ask(_ file: FileDescriptor) -> String {
    _ = try? file.write(Self.request[...])
    let bytes = (try? file.read(atMost: 4096)) ?? []
    return String(decoding: bytes.prefix { $0 != 13 }, as: UTF8.self)
  }

  @Test("keeps its connections for a second before they give way to others") func crowd() throws {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    let listener = FileDescriptor(owning: number)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutableBytes(of: &address) { bytes in
      guard let name = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return }
      #expect(bind(number, name, length) == 0 && listen(number, 128) == 0 && getsockname(number, name, &length) == 0)
    }
    let process = try ConfinedProcess("roamward-proxy", on: nil)
    try process.channel.send(ProxyOrder.serve.bytes)
    try process.channel.send(ProxyOrder.listener.bytes, passing: listener)
    for order in ProxyOrder.parts(of: Array("script".utf8)) + [.use] { try process.channel.send(order.bytes) }
    // A connection that has its answer shows that the process accepts.
    #expect(ask(try connected(to: address)) == "HTTP/1.1 200 OK")
    let first = try connected(to: address)
    let others = try (0..<80).map { _ in try connected(to: address) }
    // All places are taken: the last of these was refused, and the first one still has its place.
    #expect(ask(others[79]) == "")
    #expect(ask(first) == "HTTP/1.1 200 OK")
    // No event: a place is free after a second.
    poll(nil, 0, 1100)
    #expect(ask(try connected(to: address)) == "HTTP/1.1 200 OK")
  }
}
