internal import CLinux
internal import Glibc

/// The identity of a unix socket's peer, without a race. A process number alone may become another process's.
package struct PeerIdentity: Hashable, Sendable {
  package let credentials: PeerCredentials
  /// Field 22 of /proc/PID/stat, in clock ticks since the boot; `nil`: the process has ended, or is not visible from here.
  package let startTime: UInt64?
  /// Its groups at the time of connecting.
  package let groups: Set<UInt32>

  package init(credentials: PeerCredentials, startTime: UInt64? = nil, groups: Set<UInt32> = []) {
    self.credentials = credentials
    self.startTime = startTime
    self.groups = groups
  }

  /// The start time of the process that has this number now; `nil`: there is none.
  package static func startTime(of process: Int32) -> UInt64? {
    guard process > 0, let bytes = try? TextFile.read("/proc/\(process)/stat") else { return nil }
    // The second field is a name in parentheses, which may contain anything. A space is before each field after it.
    return (bytes + [0]).withUnsafeBytes { text in
      var field = text.bindMemory(to: CChar.self).baseAddress.flatMap { strrchr($0, Int32(UInt8(ascii: ")"))) }
      for _ in 3...22 { field = field.flatMap { strchr($0 + 1, Int32(UInt8(ascii: " "))) } }
      return field.map { UInt64(strtoull($0 + 1, nil, 10)) }
    }
  }
}

extension FileDescriptor {
  /// The identity of a unix socket's peer; `nil`: it has no credentials.
  package var peerIdentity: PeerIdentity? {
    guard let peer else { return nil }
    var groups = [UInt32](repeating: 0, count: 1024)
    let count = clinux_peer_groups(number, &groups, Int32(groups.count))
    return PeerIdentity(
      credentials: peer, startTime: startTime(of: peer), groups: Set(groups.prefix(Int(max(0, count)))).union([peer.group]))
  }

  /// The start time of the peer itself, and not of a later process with its number.
  private func startTime(of peer: PeerCredentials) -> UInt64? {
    guard let time = PeerIdentity.startTime(of: peer.process) else { return nil }
    do throws(SystemError) {
      // A process that runs after its number was read is the one that was read.
      return try ProcessDescriptor(ofPeerOf: self).hasEnded ? nil : time
    } catch {
      guard error.code == ENOPROTOOPT else { return nil }
    }
    var status = stat()
    guard stat("/proc/\(peer.process)", &status) == 0, status.st_uid == peer.user else { return nil }
    return time
  }
}

/// The ID of a local group (group(5)): every connection needs it, so it is read again only after the file has changed.
package final class LocalGroup {
  /// A file that is written anew has another number; one that is changed, another time.
  private struct Version: Equatable {
    let (device, number, size): (UInt, UInt, Int)
    let changed: [Int]
  }

  private let name: String
  private let path: String
  private var known: (version: Version, identifier: UInt32?)?

  package init(_ name: String, in path: String = "/etc/group") {
    self.name = name
    self.path = path
  }

  /// The ID in /etc/group; `nil`: there is no such group. Other sources of groups are not asked, because they may block.
  package var identifier: UInt32? {
    // Before the file is read: a change meanwhile is read the next time.
    guard let version else { return nil }
    if let known, known.version == version { return known.identifier }
    let identifier = read()
    known = (version, identifier)
    return identifier
  }

  private var version: Version? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return Version(
      device: UInt(status.st_dev), number: UInt(status.st_ino), size: Int(status.st_size),
      changed: [status.st_mtim, status.st_ctim].flatMap { [$0.tv_sec, $0.tv_nsec] })
  }

  private func read() -> UInt32? {
    guard let bytes = try? TextFile.read(path, limit: 1 << 24) else { return nil }
    let start = Array("\(name):".utf8)
    for line in bytes.split(separator: UInt8(ascii: "\n")) where line.starts(with: start) {
      let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      if fields.count > 2 { return UInt32(String(decoding: fields[2], as: UTF8.self)) }
    }
    return nil
  }
}
