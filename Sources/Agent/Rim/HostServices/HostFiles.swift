internal import KernelModel
internal import LinuxIO
internal import NetworkTypes
internal import RoamwardCore

/// Files of other programs about links: systemd-networkd's state and leases, resolvconf's records, dhclient's leases.
struct HostFiles {
  /// The prefix of every path; empty on a real machine.
  let root: String

  private var netif: String { root + "/run/systemd/netif" }
  /// The folders of Debian's resolvconf, and of older and newer openresolv.
  private var recordFolders: [String] { ["interface", "interfaces", "keys"].map { "\(root)/run/resolvconf/\($0)" } }
  private var leaseFolders: [String] { ["/var/lib/dhcp", "/var/lib/dhclient"].map { root + $0 } }

  func networkd(_ indexes: [UInt32]) -> [UInt32: NetworkdLink] {
    var links: [UInt32: NetworkdLink] = [:]
    for index in indexes {
      guard let text = text("\(netif)/links/\(index)") else { continue }
      links[index] = NetworkdLink(link: text, lease: self.text("\(netif)/leases/\(index)"))
    }
    return links
  }

  var resolvconf: [String: ResolvConf] {
    var records: [String: ResolvConf] = [:]
    for folder in recordFolders {
      for name in Folder.names(in: folder) where !name.hasPrefix(".") {
        if let text = text("\(folder)/\(name)") { records[name] = ResolvConf(parsing: text) }
      }
    }
    return records
  }

  var leases: [Lease] {
    leaseFolders.flatMap { folder in
      Folder.names(in: folder, withPrefix: "dhclient").filter { $0.hasSuffix(".leases") }
        .flatMap { Lease.leases(dhclient: text("\(folder)/\($0)") ?? "") }
    }
  }

  /// The folders and files in which changes show.
  func watched(_ indexes: [UInt32]) -> (folders: [String], files: [String]) {
    let kept = indexes.flatMap { ["\(netif)/links/\($0)", "\(netif)/leases/\($0)"] }
    return (recordFolders + leaseFolders, kept + ["\(root)/run/systemd/resolve/resolv.conf"])
  }

  private func text(_ path: String) -> String? { (try? TextFile.read(path)).map { String(decoding: $0, as: UTF8.self) } }
}
