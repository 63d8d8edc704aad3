import Glibc
import LinuxIO
import RoamwardCore

/// Resolvers that programs of glibc ask by sockets of this machine (Unix domain), past resolv.conf: they look names up as for all programs,
/// and no packet of the program tells for which one. Hidden from a program, it asks the servers of resolv.conf.
enum HiddenResolvers {
  /// systemd-resolved by the module nss-resolve(8), and nscd(8).
  private static let resolved = "/run/systemd/resolve/io.systemd.Resolve"
  private static let caches = ["/run/nscd/socket", "/var/run/nscd/socket"]

  /// The sockets that programs would ask here.
  static var present: [String] {
    let text = (try? TextFile.read("/etc/nsswitch.conf")).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let asked = (HostsLookup(parsing: text).namesResolved ? [resolved] : []) + caches
    // The same file by two paths is hidden once.
    return Dictionary(asked.compactMap { path in realPath(path).map { ($0, path) } }) { first, _ in first }.keys.sorted()
  }

  static func realPath(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  /// Hides them from this process and all that it starts. Returns what could not be hidden; `nil`: there is nothing, or all are hidden.
  static func hide() -> (paths: [String], error: SystemError)? {
    let paths = present
    if paths.isEmpty { return nil }
    do throws(SystemError) { try Privileges.hide(paths) } catch { return (paths, error) }
    return nil
  }
}
