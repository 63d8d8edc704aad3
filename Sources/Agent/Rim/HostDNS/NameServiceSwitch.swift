internal import Glibc
internal import LinuxIO
internal import RoamwardCore

/// /etc/nsswitch.conf, and whether the module for systemd-resolved is installed. Read again when the file has changed.
final class NameServiceSwitch {
  private let path: String
  private let libraries: [String]
  private var seen: (version: [Int], hosts: HostsLookup, hasModule: Bool)?

  /// `libraries`: folders of shared libraries.
  init(path: String = "/etc/nsswitch.conf", libraries: [String] = ["/usr/lib64", "/usr/lib", "/lib64", "/lib"]) {
    self.path = path
    self.libraries = libraries
  }

  var hosts: HostsLookup { read().hosts }

  /// Whether programs of glibc are told to ask systemd-resolved, and have the module for it. Packages of the module change nsswitch.conf
  /// too, so it is looked for again when that has changed.
  var asksResolved: Bool { read().hasModule }

  /// Both of them, of one moment.
  func read() -> (version: [Int], hosts: HostsLookup, hasModule: Bool) {
    var status = stat()
    let version = stat(path, &status) == 0 ? [Int(status.st_dev), Int(status.st_ino), status.st_mtim.tv_sec, status.st_mtim.tv_nsec] : []
    if let seen, seen.version == version { return seen }
    let text = (try? TextFile.read(path)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let hosts = HostsLookup(parsing: text)
    let new = (version, hosts, hosts.namesResolved && isModuleInstalled)
    seen = new
    return new
  }

  /// Whether glibc finds nss-resolve(8): beside other libraries, or in the architecture's folder below (`x86_64-linux-gnu`).
  private var isModuleInstalled: Bool {
    let name = "libnss_resolve.so.2"
    return libraries.contains { folder in
      FileNature.exists("\(folder)/\(name)")
        || Folder.names(in: folder).contains { $0.hasSuffix("-linux-gnu") && FileNature.exists("\(folder)/\($0)/\(name)") }
    }
  }
}
