package import NetworkTypes

/// An established TCP connection of this network namespace.
package struct TCPConnection: Hashable, Sendable {
  package let localPort: UInt16
  package let remote: IPAddress
  package let remotePort: UInt16

  package init(localPort: UInt16, remote: IPAddress, remotePort: UInt16) {
    self.localPort = localPort
    self.remote = remote
    self.remotePort = remotePort
  }

  /// All established connections; `nil` if the kernel does not report them.
  package static var all: [TCPConnection]? {
    var found: [TCPConnection]?
    for name in ["tcp", "tcp6"] {
      guard let bytes = try? TextFile.read("/proc/net/\(name)", limit: 1 << 26) else { continue }
      found = (found ?? []) + parse(String(decoding: bytes, as: UTF8.self))
    }
    return found
  }

  /// Reads the lines of /proc/net/tcp and tcp6 (proc(5)): addresses as words of the machine's byte order, state 01 for established.
  /// Unreadable lines are skipped.
  package static func parse(_ text: String) -> [TCPConnection] {
    text.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard words.count > 3, words[3] == "01" else { return nil }
      guard let local = end(words[1]), let remote = end(words[2]) else { return nil }
      return TCPConnection(localPort: local.port, remote: remote.address, remotePort: remote.port)
    }
  }

  private static func end(_ text: Substring) -> (address: IPAddress, port: UInt16)? {
    let parts = text.split(separator: ":")
    guard parts.count == 2, parts[0].count == 8 || parts[0].count == 32, let port = UInt16(parts[1], radix: 16) else { return nil }
    var bytes: [UInt8] = []
    var rest = parts[0]
    while !rest.isEmpty {
      guard let word = UInt32(rest.prefix(8), radix: 16) else { return nil }
      withUnsafeBytes(of: word) { bytes += Array($0) }
      rest = rest.dropFirst(8)
    }
    // IPv4 over an IPv6 socket.
    if bytes.count == 16, bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10] == 0xff, bytes[11] == 0xff { bytes = Array(bytes[12...]) }
    return IPAddress(bytes: bytes).map { ($0, port) }
  }
}
