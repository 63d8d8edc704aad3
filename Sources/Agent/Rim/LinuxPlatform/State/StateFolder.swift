package import AgentCore
internal import ControlProtocol
internal import Glibc
package import JSON
package import LinuxIO
import NetworkTypes
package import PolicySource
package import RoamwardCore

/// The agent's own folder: a lock, so that only one agent runs, and the notes that outlive a crash. A note is on disk before the step that
/// it describes.
///
/// Each note has its own file, so that damage affects one note. A damaged note is reported, renamed to `damaged-NAME`, and otherwise
/// treated as missing. If the folder cannot be written, the notes are kept in memory, and that is reported too: without an agent, no
/// traffic would be protected.
package final class StateFolder {
  package let path: String
  private let lock: FileDescriptor?
  private var notes: [String: JSON] = [:]
  /// The parsed notes of the policies: their text contains keys.
  private var lastKnownGood: LastKnownGoodPolicies?
  private var lastKnownGoodNotes = LastKnownGoodNotes()
  private var damage: [String] = []
  /// Notes whose present content is not on disk, because of the failure.
  private var unwritten: Set<String> = []
  private var failure: SystemError?
  private let boot: String

  /// Creates the folder if it is missing (mode 0700) and takes the lock. Throws EBUSY if another agent has the lock.
  package init(path: String) throws(SystemError) {
    self.path = path
    boot = bootID
    do throws(SystemError) {
      try Folder.make(path, mode: 0o700)
      lock = try Self.takeLock(in: path)
    } catch {
      guard Self.isNoReasonToEnd(error) else { throw error }
      lock = nil
      failure = error
    }
    load()
  }

  /// Locks the lock file, or the folder itself if none can be created.
  private static func takeLock(in path: String) throws(SystemError) -> FileDescriptor {
    var number = open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if number < 0 {
      let error = SystemError.last("open \(path)/lock")
      guard isNoReasonToEnd(error) else { throw error }
      number = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      if number < 0 { throw error }
    }
    let lock = FileDescriptor(owning: number)
    // A child process of a killed agent also has the lock, until exec(2) closes its descriptors.
    let deadline = Moment.now + .seconds(1)
    while flock(number, LOCK_EX | LOCK_NB) != 0 {
      guard Moment.now < deadline else {
        throw SystemError(code: EBUSY, operation: "lock \(path): another agent uses this state folder")
      }
      usleep(20_000)
    }
    return lock
  }

  /// Whether the disk is full, broken or read-only.
  private static func isNoReasonToEnd(_ error: SystemError) -> Bool { [EROFS, ENOSPC, EDQUOT, EIO].contains(error.code) }

  // MARK: Reading

  private func load() {
    let disk = NotesOnDisk(path, boot: boot)
    notes = disk.notes
    lastKnownGoodNotes = LastKnownGoodNotes(notes)
    lastKnownGood = lastKnownGoodNotes.set
    for name in [LastKnownGoodPolicies.noteName, LastKnownGoodPolicies.changesName] { notes[name] = nil }
    for name in disk.outdated { drop(name) }
    // Files of notes that were being written; the resolver's file has its own recovery.
    for name in disk.unfinished { try? TextFile.remove("\(path)/\(name)") }
    for (name, what) in disk.unusable {
      let isAside = rename("\(path)/\(name)", "\(path)/damaged-\(name)") == 0
      damage.append(
        "\(path)/\(name) \(what) and is ignored" + (isAside ? "; it is now damaged-\(name): inspect it, then remove it" : ""))
    }
  }

  // MARK: Writing

  private func put(_ name: String, _ note: JSON) {
    notes[name] = note
    unwritten.insert(name)
    writeBack()
  }

  private func drop(_ name: String) {
    notes[name] = nil
    unwritten.insert(name)
    writeBack()
  }

  private func writeBack() {
    for name in unwritten.sorted() {
      do throws(SystemError) {
        if name == LastKnownGoodPolicies.noteName { try writeKept() } else { try write(notes[name], as: name) }
        unwritten.remove(name)
      } catch {
        // The reason why there is no folder is more useful than its absence.
        if lock != nil { failure = error }
        return
      }
    }
    if lock != nil { failure = nil }
  }

  /// Writes a note, or removes it.
  private func write(_ note: JSON?, as name: String) throws(SystemError) {
    guard let note else { return try TextFile.remove("\(path)/\(name)") }
    try TextFile.replace("\(path)/\(name)", with: Note.encode(note, name: name), mode: 0o600)
  }

  /// Writes the last known good set: what has changed in it, or the whole set.
  private func writeKept() throws(SystemError) {
    guard let lastKnownGood else { return }
    if let changes = lastKnownGoodNotes.changesNote(to: lastKnownGood) {
      try write(changes, as: LastKnownGoodPolicies.changesName)
      return lastKnownGoodNotes.wroteChanges(to: lastKnownGood, isThere: true)
    }
    try write(lastKnownGoodNotes.wholeNote(of: lastKnownGood), as: LastKnownGoodPolicies.noteName)
    lastKnownGoodNotes.wroteWhole(lastKnownGood)
    guard lastKnownGoodNotes.hasChanges else { return }
    try write(nil, as: LastKnownGoodPolicies.changesName)
    lastKnownGoodNotes.wroteChanges(to: lastKnownGood, isThere: false)
  }

  /// The problems with the notes, for people. Failed writes are tried again.
  private var troubles: [String] {
    if !unwritten.isEmpty { writeBack() }
    guard let failure else { return damage }
    let words = "state for crash recovery is kept in memory only, because \(path) cannot be written: \(failure.reason)"
    return damage + ["\(words); make room there, or mount it for writing"]
  }

  // MARK: Trial

  var trialNote: TrialNote? { notes[TrialNote.name].flatMap(TrialNote.init) }

  func put(_ note: TrialNote?) {
    if let note {
      put(TrialNote.name, note.json(boot: boot))
    } else if notes[TrialNote.name] != nil {
      drop(TrialNote.name)
    }
  }

  // MARK: Policies

  /// The last known good set, if one is stored.
  var lastKnownGoodPolicies: LastKnownGoodPolicies? { lastKnownGood }

  func put(_ policies: LastKnownGoodPolicies) {
    lastKnownGood = policies
    unwritten.insert(LastKnownGoodPolicies.noteName)
    writeBack()
  }

  func isWritten(_ name: String) -> Bool { !unwritten.contains(name) && lock != nil }

  package var recoveryLog: RecoveryLog {
    RecoveryLog(
      unfinishedLinks: { [self] in Set(notes.names(withPrefix: "link-")) },
      recordLink: { [self] in put("link-\($0)", ["boot": .string(boot)]) },
      forgetLink: { [self] in if notes["link-\($0)"] != nil { drop("link-\($0)") } }, startedCommands: { [self] in startedCommands },
      recordCommand: { [self] in put("command-\($0)", $1.json(boot: boot)) },
      forgetCommand: { [self] in if notes["command-\($0)"] != nil { drop("command-\($0)") } },
      overrides: { [self] in OverrideNote.overrides(in: notes["holds.json"] ?? .null) },
      saveOverrides: { [self] in $0.isEmpty ? drop("holds.json") : put("holds.json", OverrideNote.note(of: $0)) },
      troubles: { [self] in troubles }, guards: { [self] in notes.guards },
      recordGuard: { [self] in put(GuardNote.prefix + String($0.process), JSON(encoding: GuardNote($0, boot: boot))) },
      forgetGuard: { [self] in if notes[GuardNote.prefix + String($0)] != nil { drop(GuardNote.prefix + String($0)) } },
      programs: { [self] in notes.programs },
      savePrograms: { [self] in
        if !$0.isEmpty {
          put(ProgramNote.name, JSON(encoding: ProgramNote($0, boot: boot)))
        } else if notes[ProgramNote.name] != nil {
          drop(ProgramNote.name)
        }
      },
      takeHandOver: { [self] in
        defer { if notes[HandOverNote.name] != nil { drop(HandOverNote.name) } }
        return notes.handOver
      }, recordHandOver: { [self] in put(HandOverNote.name, JSON(encoding: HandOverNote($0, boot: boot))) },
      isBehind: { [self] in lock != nil && !unwritten.isEmpty }, latestTime: { [self] in latestTime })
  }

  /// When an agent last wrote a note or a part of its record, by the clock of that moment.
  private var latestTime: Timestamp? {
    [path, HistoryFolder.path(in: path)].flatMap { folder in Folder.names(in: folder).map { "\(folder)/\($0)" } }.compactMap { file in
      var status = stat()
      return lstat(file, &status) == 0 ? Timestamp(seconds: Int64(status.st_mtim.tv_sec)) : nil
    }.max()
  }

  private var startedCommands: [String: CommandProviderConfiguration] { notes.startedCommands }

  /// The tunnels that wait for the next agent.
  package var handedOver: [String] { notes.handOver.tunnels.keys.sorted() }
}

/// The content of the folder, read without a lock and without changes.
package struct NotesOnDisk {
  package var notes: [String: JSON] = [:]
  /// Their names, and the defects.
  package var unusable: [(name: String, what: String)] = []
  /// Notes of an earlier boot.
  package var outdated: [String] = []

  /// Temporary files of notes that were being replaced.
  package var unfinished: [String] = []

  package init(_ path: String, boot: String = bootID) {
    for found in Folder.names(in: path) {
      let isUnfinished = found.hasSuffix(TextFile.temporarySuffix)
      let name = isUnfinished ? String(found.dropLast(TextFile.temporarySuffix.count)) : found
      let isOfPolicies = [LastKnownGoodPolicies.noteName, LastKnownGoodPolicies.changesName].contains(name)
      guard
        isOfPolicies || ["holds.json", TrialNote.name, HandOverNote.name, ProgramNote.name].contains(name)
          || ["link-", "command-", GuardNote.prefix].contains(where: name.hasPrefix)
      else { continue }
      if isUnfinished {
        unfinished.append(found)
        continue
      }
      // A policy file may have up to one mebibyte.
      guard let bytes = try? TextFile.read("\(path)/\(name)", limit: isOfPolicies ? 1 << 28 : 1 << 20) else {
        unusable.append((name, "cannot be read"))
        continue
      }
      guard let note = Note.decode(bytes, name: name) ?? Self.legacy(bytes, name) else {
        unusable.append((name, "is damaged"))
        continue
      }
      // Links and programs do not outlive a boot, so a note of an earlier one is void: a link of that name is another program's.
      if let other = note["boot"]?.string, other != boot { outdated.append(name) } else { notes[name] = note }
    }
  }

  /// Manual overrides in the format of version 0.1.
  private static func legacy(_ bytes: [UInt8], _ name: String) -> JSON? {
    guard name == "holds.json", let json = try? JSON(parsing: bytes), json.members != nil else { return nil }
    return json
  }

  package var links: Set<String> { Set(notes.names(withPrefix: "link-")) }

  package var startedCommands: [String: CommandProviderConfiguration] { notes.startedCommands }

  package var guards: [ProgramGuard] { notes.guards }

  package var programs: [ProgramGroup] { notes.programs }

  package var overrides: [String: ManualOverride] { OverrideNote.overrides(in: notes["holds.json"] ?? .null) }

  package var lastKnownGoodPolicies: LastKnownGoodPolicies? { LastKnownGoodNotes(notes).set }

  var trial: TrialNote? { notes[TrialNote.name].flatMap(TrialNote.init) }
}

extension [String: JSON] {
  fileprivate func names(withPrefix prefix: String) -> [String] {
    keys.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }.sorted()
  }

  fileprivate var startedCommands: [String: CommandProviderConfiguration] {
    let tunnels = names(withPrefix: "command-").map { ($0, CommandProviderConfiguration(self["command-\($0)"] ?? .null)) }
    return [String: CommandProviderConfiguration](uniqueKeysWithValues: tunnels)
  }
}

extension CommandProviderConfiguration {
  fileprivate func json(boot: String) -> JSON {
    JSON(encoding: CommandNote(boot: boot, up: up, down: down, status: status, interface: interface, milliseconds: timeout.milliseconds))
  }

  /// An empty note is still a note: its tunnel was begun.
  fileprivate init(_ json: JSON) {
    let note = try? json.decoded(as: CommandNote.self)
    // Earlier versions wrote seconds.
    let timeout = note?.milliseconds.map { Duration.milliseconds($0) } ?? json["timeout"]?.integer.map { .seconds($0) }
    self.init(
      up: note?.up ?? [], down: note?.down ?? [], status: note?.status ?? [], interface: note?.interface, timeout: timeout ?? .seconds(30))
  }
}

/// A command whose `up` has begun.
private struct CommandNote: Codable {
  var boot: String?
  var up: [String]
  var down: [String]
  var status: [String]
  var interface: String?
  var milliseconds: Int64?

  enum CodingKeys: String, CodingKey {
    case boot, up, down, status, interface
    case milliseconds = "timeout-ms"
  }
}
