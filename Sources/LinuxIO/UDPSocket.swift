internal import Glibc

/// A UDP socket of this network namespace that is bound to a port.
package struct UDPSocket {
  /// The process that has it; `nil`: the kernel itself, or this process may not know.
  package let process: (number: Int32, name: String)?

  /// All sockets at this port, of both families; none if the kernel does not report them.
  package static func all(at port: UInt16) -> [UDPSocket] {
    let inodes = ["udp", "udp6"].flatMap { name -> [String] in
      guard let bytes = try? TextFile.read("/proc/net/\(name)", limit: 1 << 26) else { return [] }
      return Self.inodes(in: String(decoding: bytes, as: UTF8.self), port: port)
    }
    if inodes.isEmpty { return [] }
    let targets = Set(inodes.map { "socket:[\($0)]" })
    let holders = processes.filter { number in
      Folder.names(in: "/proc/\(number)/fd").contains { name in
        link("/proc/\(number)/fd/\(name)").map { targets.contains($0) } ?? false
      }
    }
    guard !holders.isEmpty else { return [UDPSocket(process: nil)] }
    return holders.map { UDPSocket(process: ($0, name(of: $0))) }
  }

  /// Reads the lines of /proc/net/udp and udp6 (proc(5)): the second word is the local end, the tenth the socket's number.
  static func inodes(in text: String, port: UInt16) -> [String] {
    text.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard words.count > 9, let end = words[1].split(separator: ":").last, end.count == 4, UInt16(end, radix: 16) == port else {
        return nil
      }
      return String(words[9])
    }
  }

  private static var processes: [Int32] { Folder.names(in: "/proc").compactMap { Int32($0) } }

  private static func name(of process: Int32) -> String {
    let bytes = (try? TextFile.read("/proc/\(process)/comm", limit: 64)) ?? []
    // A program names itself.
    return String(decoding: bytes.prefix { $0 != 0x0a }.map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }

  private static func link(_ path: String) -> String? {
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = readlink(path, &bytes, bytes.count)
    return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}
