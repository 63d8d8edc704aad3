internal import ControlProtocol
internal import Glibc
package import LinuxIO
internal import RoamwardCore

/// The agent's own folder: a lock, so that there is one agent, and the notes that outlive a crash. A note is on disk before what it is about.
package final class StateFolder {
  package let path: String
  private let lock: FileDescriptor

  /// Makes the folder where it is missing (mode 0700) and takes the lock. Another agent that holds it is an error (EBUSY).
  package init(path: String) throws(SystemError) {
    self.path = path
    try Folder.make(path, mode: 0o700)
    let number = open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw .last("open \(path)/lock") }
    lock = FileDescriptor(owning: number)
    guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
      throw SystemError(code: EBUSY, operation: "lock \(path): another agent uses this state folder")
    }
    forgetEarlierBoots()
  }

  /// Links and programs do not outlive a boot, so notes of an earlier one are about nothing: a link of that name is somebody else's by now.
  private func forgetEarlierBoots() {
    let current = (try? TextFile.read("/proc/sys/kernel/random/boot_id")) ?? []
    if (try? TextFile.read(path + "/boot-id")) == current { return }
    for prefix in ["link-", "command-"] { for name in names(withPrefix: prefix) { forget(prefix + name) } }
    try? TextFile.replace(path + "/boot-id", with: current, mode: 0o600)
  }

  package var journal: Journal {
    Journal(
      unfinishedLinks: { [self] in Set(names(withPrefix: "link-")) }, noteLink: { [self] in write("link-\($0)", "") },
      forgetLink: { [self] in forget("link-\($0)") }, startedCommands: { [self] in startedCommands() },
      noteCommand: { [self] in write("command-\($0)", $1.json.text()) }, forgetCommand: { [self] in forget("command-\($0)") },
      holds: { [self] in HoldFile.read("\(path)/holds.json") }, saveHolds: { [self] in try? HoldFile.write($0, to: "\(path)/holds.json") })
  }

  private func startedCommands() -> [String: CommandProviderConfiguration] {
    var commands: [String: CommandProviderConfiguration] = [:]
    for name in names(withPrefix: "command-") {
      if let bytes = try? TextFile.read("\(path)/command-\(name)"), let json = try? JSON(parsing: bytes) {
        commands[name] = CommandProviderConfiguration(json)
      }
    }
    return commands
  }

  private func write(_ name: String, _ text: String) {
    try? TextFile.replace("\(path)/\(name)", with: Array(text.utf8), mode: 0o600)
  }

  private func forget(_ name: String) { try? TextFile.remove("\(path)/\(name)") }

  private func names(withPrefix prefix: String) -> [String] {
    Folder.names(in: path, withPrefix: prefix).filter { !$0.hasSuffix(TextFile.temporarySuffix) }.map { String($0.dropFirst(prefix.count)) }
  }
}

extension CommandProviderConfiguration {
  fileprivate var json: JSON {
    [
      "up": JSON(up), "down": JSON(down), "status": JSON(status), "interface": JSON(interface),
      "timeout": .integer(timeout.components.seconds),
    ]
  }

  fileprivate init(_ json: JSON) {
    func words(_ key: String) -> [String] { (json[key]?.array ?? []).compactMap(\.string) }
    self.init(
      up: words("up"), down: words("down"), status: words("status"), interface: json["interface"]?.string,
      timeout: .seconds(json["timeout"]?.integer ?? 30))
  }
}
