/// A control group of providers whose own packets stay outside every tunnel: of programs that the agent starts, or of a unit of systemd.
/// Each socket that is opened in it, or below it, has `Ownership.mark` from its creation, and the kill switch lets such packets pass.
package struct ProviderGroup: Hashable, Sendable {
  /// The kernel's number of the group (the inode number of its folder). A group of the same name that was made later has another one.
  package let number: UInt64
  /// The depth below the root of the hierarchy, by which the kernel finds a socket's ancestor to compare with the group.
  package let level: Int
  /// The path of the group's folder for nftables, below /sys/fs/cgroup; `nil` except in the text for nft(8). It differs between programs.
  package var path: String?

  package init(number: UInt64, level: Int) {
    self.number = number
    self.level = level
  }

  /// The nftables expression that matches sockets of its programs.
  var match: String { "socket cgroupv2 level \(level) \"\(path ?? "number \(number)")\"" }
}

/// Whether sockets of providers can be marked on this machine.
package enum ProviderGroupState: Equatable, Sendable {
  /// No tunnel needs it, or it was not examined.
  case unexamined
  /// The group of programs, and those of units that are tunnels now.
  case ready(ProviderGroup, units: [ProviderGroup] = [])
  /// The reason, and the remedy if there is one.
  case unavailable(reason: String)

  package var group: ProviderGroup? { if case .ready(let group, _) = self { group } else { nil } }

  package var all: [ProviderGroup] { if case .ready(let group, let units) = self { [group] + units } else { [] } }
}
