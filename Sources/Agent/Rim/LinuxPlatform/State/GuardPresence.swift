internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import ProviderGroups
import RoamwardCore

/// The files by which guards say that they are there, in the agent's folder: `presence-PROCESS`. `roamward guard` creates its file before
/// its program starts, and removes it before an end that is wanted. So the file tells of the other ends, also when no agent runs.
struct GuardPresence {
  static let prefix = "presence-"

  private let folder: String

  init(in folder: String) { self.folder = folder }

  func path(of process: Int32) -> String { "\(folder)/\(Self.prefix)\(process)" }

  func isThere(_ process: Int32) -> Bool { access(path(of: process), F_OK) == 0 }

  func remove(_ process: Int32) { unlink(path(of: process)) }

  /// Removes all files but those of these guards.
  func removeAll(except kept: [ProgramGuard]) {
    let names = Set(kept.map { "\(Self.prefix)\($0.process)" })
    for name in Folder.names(in: folder, withPrefix: Self.prefix) where !names.contains(name) { unlink("\(folder)/\(name)") }
  }

  /// A noted guard as it stands now, in these groups: it runs, or it stays closed, because it has ended without removing its file. `nil`:
  /// it is over.
  func standing(_ noted: ProgramGuard, in groups: ProviderGroups) -> ProgramGuard? {
    var program = noted
    if groups.holds(program) { return program }
    guard isThere(program.process) else { return nil }
    program.heldSince = program.heldSince ?? .now
    return program
  }
}
