internal import Glibc

/// A program that the agent has started, or a descendant of one, identified by its environment variables, which children inherit.
///
/// Every user can set such variables, so they show the purpose of a process, and not its owner. It is the agent's if one of these is true:
/// its user is the caller's, which is root; it holds the TUN device of its link; it is in the control group of the agent's unit; or the
/// agent, or a process of the agent, is among its ancestors.
package struct MarkedProcess: Hashable, Sendable {
  package let process: Int32
  package let group: Int32
  package let session: Int32
  /// `ROAMWARD_LINK`, `ROAMWARD_TUNNEL` and `ROAMWARD_ACTION`, as far as they are set.
  package let marks: [String: String]
  package let command: [String]

  /// Whether it is a run of the agent that is still in progress: it leads the group that the agent gave it. Its background processes have
  /// another leader, or a session of their own.
  package var isRun: Bool { process == group && process != session }

  private static let names = ["ROAMWARD_LINK", "ROAMWARD_TUNNEL", "ROAMWARD_ACTION"]

  /// The processes of this network namespace whose variables are readable, which requires root.
  package static var all: [MarkedProcess] {
    let home = target(of: "/proc/self/ns/net")
    return Folder.names(in: "/proc").compactMap { name in
      guard let process = Int32(name), process != getpid(), let environment = try? TextFile.read("/proc/\(name)/environ") else {
        return nil
      }
      var marks: [String: String] = [:]
      for variable in strings(environment) {
        guard let equals = variable.firstIndex(of: "=") else { continue }
        let key = String(variable[..<equals])
        if names.contains(key) { marks[key] = String(variable[variable.index(after: equals)...]) }
      }
      guard !marks.isEmpty, target(of: "/proc/\(name)/ns/net") == home, isOurs(process, marks) else { return nil }
      let command = (try? TextFile.read("/proc/\(name)/cmdline")).map(strings) ?? []
      // A zombie process has no command any more.
      if command.isEmpty { return nil }
      return MarkedProcess(process: process, group: getpgid(process), session: getsid(process), marks: marks, command: command)
    }
  }

  /// The process's effective user and parent (proc_pid_status(5)).
  private static func status(of process: Int32) -> (user: UInt32, parent: Int32)? {
    guard let text = try? TextFile.read("/proc/\(process)/status", limit: 8192) else { return nil }
    var (user, parent): (UInt32?, Int32?)
    for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
      let words = line.split { $0 == "\t" || $0 == " " }
      if words.first == "Uid:", words.count > 2 { user = UInt32(words[2]) }
      if words.first == "PPid:", words.count > 1 { parent = Int32(words[1]) }
    }
    guard let user, let parent else { return nil }
    return (user, parent)
  }

  private static func isOurs(_ process: Int32, _ marks: [String: String]) -> Bool {
    guard let status = status(of: process) else { return false }
    if status.user == geteuid() { return true }
    if let link = marks["ROAMWARD_LINK"], holdsDevice(of: link, process) { return true }
    if let group = controlGroup(of: process), group == unit || group.hasPrefix(unit + "/") { return true }
    return isBelowOurs(status.parent)
  }

  private static let unit = "/system.slice/roamwardd.service"

  /// Whether it has the TUN device of that name open, which requires CAP_NET_ADMIN.
  private static func holdsDevice(of link: String, _ process: Int32) -> Bool {
    let folder = "/proc/\(process)/fdinfo"
    return Folder.names(in: folder).contains { name in
      guard let text = try? TextFile.read("\(folder)/\(name)", limit: 4096) else { return false }
      return String(decoding: text, as: UTF8.self).split(separator: "\n").contains("iff:\t\(link)")
    }
  }

  /// Whether one of these ancestors is the agent, or a marked process of our own user.
  private static func isBelowOurs(_ first: Int32) -> Bool {
    var process = first
    for _ in 0..<64 {
      guard process > 1, let status = status(of: process) else { return false }
      if status.user == geteuid() {
        if process == getpid() || isAgent(process) { return true }
        if let environment = try? TextFile.read("/proc/\(process)/environ"),
          strings(environment).contains(where: { $0.hasPrefix("ROAMWARD_TUNNEL=") })
        {
          return true
        }
      }
      process = status.parent
    }
    return false
  }

  private static func isAgent(_ process: Int32) -> Bool {
    var path = [CChar](repeating: 0, count: 4097)
    guard readlink("/proc/\(process)/exe", &path, 4096) > 0 else { return false }
    let words = path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: words, as: UTF8.self).split(separator: "/").last?.hasPrefix("roamwardd") ?? false
  }

  /// Kills these programs, each with its group, and waits until they are gone: half a second at most. For use before the loop runs.
  package static func end(_ isMeant: (MarkedProcess) -> Bool) {
    for _ in 0..<50 {
      let meant = all.filter(isMeant)
      if meant.isEmpty { return }
      for one in meant { Privileges.signal(one.isRun ? -one.process : one.process, SIGKILL) }
      usleep(10_000)
    }
  }

  private static func strings(_ bytes: [UInt8]) -> [String] { bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) } }

  private static func target(of link: String) -> [CChar] {
    [CChar](unsafeUninitializedCapacity: 64) { buffer, count in
      count = buffer.baseAddress.map { max(0, readlink(link, $0, 64)) } ?? 0
    }
  }
}
