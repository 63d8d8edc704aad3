internal import Glibc

/// The version 2 control group of a process (cgroups(7)), from the root of the hierarchy; `nil` if there is no such process or no such
/// hierarchy.
package func controlGroup(of process: Int32) -> String? {
  guard let text = try? TextFile.read("/proc/\(process)/cgroup") else { return nil }
  let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
  return lines.first { $0.hasPrefix("0::/") }.map { String($0.dropFirst(3)) }
}

/// The mount point of the version 2 hierarchy below /sys/fs/cgroup: its own, or beside groups of version 1; `nil`: none.
package var controlGroupMount: String? {
  ["", "unified"].first { access("/sys/fs/cgroup/\($0)/cgroup.procs", F_OK) == 0 }
}

/// Whether a process is in the group, or in one below it. `path`: below /sys/fs/cgroup.
package func isControlGroupPopulated(_ path: String) -> Bool {
  guard let text = try? TextFile.read("/sys/fs/cgroup/\(path)/cgroup.events", limit: 4096) else { return false }
  return String(decoding: text, as: UTF8.self).split(separator: "\n").contains("populated 1")
}

/// The path of the version 2 control group with this number, from the root of the hierarchy; `nil`: it is gone, or there are too many to
/// look at.
package func controlGroup(numbered number: UInt64) -> String? {
  guard let mount = controlGroupMount else { return nil }
  let root = "/sys/fs/cgroup" + (mount.isEmpty ? "" : "/\(mount)")
  var open = [""]
  var count = 0
  while let path = open.popLast(), count < 10_000 {
    count += 1
    var status = stat()
    guard lstat(root + path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { continue }
    if UInt64(status.st_ino) == number { return path.isEmpty ? "/" : path }
    guard status.st_nlink > 2 else { continue }
    open += Folder.folders(in: root + path).map { "\(path)/\($0)" }
  }
  return nil
}
