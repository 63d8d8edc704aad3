internal import Glibc

/// A program that the agent has started, or what such a program has started: told by the variables that it was given, which its children inherit.
package struct MarkedProcess: Hashable, Sendable {
  package let process: Int32
  package let group: Int32
  package let session: Int32
  /// `ROAMWARD_LINK`, `ROAMWARD_TUNNEL` and `ROAMWARD_ACTION`, as far as it has them.
  package let marks: [String: String]
  package let command: [String]

  /// One of the agent's runs that is still under way: it leads the group that the agent gave it. What it has left running in the background has
  /// another leader, or a session of its own.
  package var isRun: Bool { process == group && process != session }

  private static let names = ["ROAMWARD_LINK", "ROAMWARD_TUNNEL", "ROAMWARD_ACTION"]

  /// Those of this network namespace whose variables can be read, which takes root.
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
      guard !marks.isEmpty, target(of: "/proc/\(name)/ns/net") == home else { return nil }
      let command = (try? TextFile.read("/proc/\(name)/cmdline")).map(strings) ?? []
      // One that has ended and waits for its parent has no command any more.
      if command.isEmpty { return nil }
      return MarkedProcess(process: process, group: getpgid(process), session: getsid(process), marks: marks, command: command)
    }
  }

  /// Kills these programs, each with its group, and waits until they are gone: half a second at most. For the time before the loop runs.
  package static func end(_ isMeant: (MarkedProcess) -> Bool) {
    for _ in 0..<50 {
      let meant = all.filter(isMeant)
      if meant.isEmpty { return }
      for one in meant { kill(one.isRun ? -one.process : one.process, SIGKILL) }
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
