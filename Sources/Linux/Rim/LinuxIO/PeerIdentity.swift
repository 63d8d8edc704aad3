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
    // The second field is a name in parentheses, which may contain anything.
    let fields = bytes.split(separator: UInt8(ascii: ")"), omittingEmptySubsequences: false).last?.split(separator: UInt8(ascii: " ")) ?? []
    return fields.count > 19 ? UInt64(String(decoding: fields[19], as: UTF8.self)) : nil
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

/// The local groups (group(5)).
package enum LocalGroups {
  /// The ID of a group in /etc/group. Other sources of groups are not asked, because they may block.
  package static func identifier(of name: String, in path: String = "/etc/group") -> UInt32? {
    guard let bytes = try? TextFile.read(path, limit: 1 << 24) else { return nil }
    let start = Array("\(name):".utf8)
    for line in bytes.split(separator: UInt8(ascii: "\n")) where line.starts(with: start) {
      let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      if fields.count > 2 { return UInt32(String(decoding: fields[2], as: UTF8.self)) }
    }
    return nil
  }
}
