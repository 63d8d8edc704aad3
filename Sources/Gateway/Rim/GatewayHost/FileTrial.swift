package import GatewayCore
internal import GatewaySource
internal import GatewayStore
internal import Glibc
internal import JSON
internal import LinuxIO
package import NetworkTypes

/// Files on trial. They lie over all others until a person confirms them. When their time is over, at a reboot, or on request, the gateway
/// is again what it was before.
///
/// In the gateway's folder, `trial` has a note and the files. It appears as a whole, and is gone as a whole. Each process that changes it
/// has its lock, so that a note of a change that is half done is one of a process that was killed.
package struct FileTrial: Sendable {
  private let folder: StateFolder
  private var path: String { "\(folder.path)/trial" }
  private var notePath: String { "\(path)/note.json" }

  package init(_ folder: StateFolder) { self.folder = folder }

  /// The longest trial.
  package static let longest = Duration.seconds(86_400)

  /// Whether a trial begins or ends when something gets this name in the gateway's folder.
  static func isSign(_ name: String) -> Bool { name == "trial" || name == "trial.old" }

  /// The folder of its files; `nil`: nothing is on trial.
  var layer: String? { access(notePath, F_OK) == 0 ? filesPath(path) : nil }

  private func filesPath(_ path: String) -> String { "\(path)/files" }

  /// The folder and the file that change as the trial goes on, also where a process is killed; `nil`: nothing is on trial.
  var traces: (folder: String, file: String)? { layer.map { _ in (path, notePath) } }

  /// A trial that goes on.
  package struct State: Sendable {
    /// The names of the files, sorted.
    package let files: [String]
    package let end: Timestamp
  }

  /// `nil`: nothing is on trial.
  package var state: State? {
    guard let note, note.phase == .running, !note.isOver else { return nil }
    return State(files: Folder.names(in: filesPath(path)), end: Timestamp(seconds: note.end))
  }

  private var note: TrialNote? {
    guard let bytes = try? TextFile.read(notePath, limit: 1 << 28) else { return nil }
    return try? JSON(parsing: bytes).decoded()
  }

  private func write(_ note: TrialNote, in path: String) throws(SystemError) {
    try TextFile.replace("\(path)/note.json", with: Array(JSON(encoding: note).text().utf8), mode: 0o600)
  }

  /// Keeps all other processes from changing the trial; `nil`: one of them does it now.
  func lock(patience: Duration = .zero) throws(SystemError) -> FileDescriptor? {
    try LockFile("\(path).lock").take(patience: patience)
  }

  private func lockForCommand() throws -> FileDescriptor {
    guard let lock = try lock(patience: .seconds(10)) else {
      throw GatewayError("another command begins or ends a trial", help: "try it again")
    }
    return lock
  }

  /// The running gateway may not have come to the end of a trial yet, or to one whose command was killed.
  private func settleOld() throws { if access(path, F_OK) == 0 { _ = try settle(in: folder.store()) } }

  /// Throws while files are on trial, or what they have changed is not taken back.
  package func refuseSecond() throws(GatewayError) {
    if let state {
      throw GatewayError(
        "\(state.files.joined(separator: ", ")): on trial until \(state.end)",
        help: "`roamward-gateway confirm` keeps them, `roamward-gateway revert` ends the trial")
    }
    if layer != nil { throw GatewayError("a trial of files is over, and is not reverted", help: "`roamward-gateway revert` does that") }
  }
}

// Its beginning and its ends, by commands.
extension FileTrial {
  /// Carries out the files, and for good those of `paths`, which it writes into the folder of the gateway's files.
  package func apply(_ paths: [String], over declared: DeclaredFiles) throws -> DeclaredFiles.Effect {
    try folder.make()
    let lock = try lockForCommand()
    defer { withExtendedLifetime(lock) {} }
    try settleOld()
    if !paths.isEmpty {
      try refuseSecond()
      _ = try declared.effect(of: declared.load(over: paths))
      try declared.install(try DeclaredFiles.gather(paths))
    }
    return try declared.apply(declared.load())
  }

  /// Puts files over the others until a person confirms them.
  ///
  /// - Parameters:
  ///   - paths: the files, and folders of files.
  ///   - length: the time until they are reverted.
  package func begin(_ paths: [String], lasting length: Duration, over declared: DeclaredFiles) throws -> DeclaredFiles.Effect {
    guard folder.isServed else {
      throw GatewayError(
        "no gateway runs, which would revert the files", help: "`systemctl start roamward-gateway` starts it, or leave --confirm-within out"
      )
    }
    let lock = try lockForCommand()
    defer { withExtendedLifetime(lock) {} }
    try settleOld()
    try refuseSecond()
    let wanted = declared.load(over: paths)
    _ = try declared.effect(of: wanted)
    var note = TrialNote(lasting: length)
    note.settings = try wanted.file.host.ordered.compactMap { setting, placed in
      let (before, text) = (try setting.text(in: folder), placed.value)
      return before == text ? nil : SettingNote(name: setting.rawValue, before: before, after: text)
    }
    let hasLogins = try folder.loginIdentity() != nil
    if let logins = wanted.file.host.logins?.value, logins != hasLogins { note.logins = hasLogins }
    try put(try DeclaredFiles.gather(paths), note)
    do {
      let effect = try declared.apply(declared.load()) { (reversal) throws(SystemError) in
        note.reversal = reversal
        try write(note, in: path)
      }
      note.phase = .running
      try write(note, in: path)
      folder.announceChange()
      return effect
    } catch {
      // If that fails too, the running gateway does it.
      if let store = try? folder.store() { _ = try? undo(note, in: store) }
      throw error
    }
  }

  /// Makes the folder, whole.
  private func put(_ files: [DeclaredFiles.NamedFile], _ note: TrialNote) throws {
    let new = "\(path).new"
    clear(new)
    try Folder.make(new, mode: 0o700)
    try Folder.make(filesPath(new), mode: 0o700)
    for file in files { try TextFile.replace("\(filesPath(new))/\(file.name)", with: file.bytes, mode: file.mode) }
    try write(note, in: new)
    // A process may have been killed while it removed it.
    clear(path)
    guard rename(new, path) == 0 else { throw SystemError.last("rename \(new)") }
    FaultPoint.pass("after renaming to \(path)")
  }

  /// The folder into which `confirm` writes, and the files.
  package func confirmation(over declared: DeclaredFiles) throws -> (files: [String], folder: String) {
    guard let state else { throw GatewayError("no files are on trial", help: "`roamward-gateway apply --confirm-within` begins a trial") }
    return (state.files, try declared.destination())
  }

  /// Writes the files on trial into the folder of the gateway's files, and ends the trial: everything stays as it is.
  package func confirm(over declared: DeclaredFiles) throws {
    let lock = try lockForCommand()
    defer { withExtendedLifetime(lock) {} }
    _ = try confirmation(over: declared)
    try declared.install(try DeclaredFiles.gather([filesPath(path)]))
    try remove()
    try folder.store().record(
      [AuditEntry.Record(actor: Actor.current, verb: "files confirm", object: "trial", detail: "")], at: Timestamp.now.wholeSecond)
    _ = try declared.apply(declared.load())
  }

  /// Computes what `revert` would change; `make`: changes it.
  package func revert(make: Bool) throws -> DeclaredFiles.Effect {
    let lock = try lockForCommand()
    defer { withExtendedLifetime(lock) {} }
    // Also one that is over, or whose command was killed.
    guard let note else {
      throw GatewayError("no files are on trial", help: "`roamward-gateway apply --confirm-within` begins a trial")
    }
    let store = try folder.store()
    return try make ? undo(note, in: store) : reversed(note, in: store, make: false)
  }
}

// Its end on time, by the running gateway.
extension FileTrial {
  /// The outcome of a look at the trial.
  enum Settlement {
    case none
    /// Files are on trial until then.
    case goesOn(Moment)
    /// The trial was ended: its time was over, or a process was killed that began or ended it.
    case ended
  }

  /// Ends the trial if its time is over, or if a process was killed that began or ended it.
  func settle(in store: GatewayStore) throws -> Settlement {
    clear("\(path).new")
    clear("\(path).old")
    guard let note else {
      guard access(path, F_OK) == 0 else { return .none }
      // Its changes stay: what they were is not known any more.
      try remove()
      throw GatewayError("the note of the trial in \(notePath) is damaged: its changes stay", help: "roamward-gateway diff shows them")
    }
    if note.phase == .running, !note.isOver, let deadline = note.deadlineHere { return .goesOn(deadline) }
    _ = try undo(note, in: store)
    return .ended
  }

  @discardableResult private func undo(_ note: TrialNote, in store: GatewayStore) throws -> DeclaredFiles.Effect {
    var note = note
    note.phase = .reverting
    try write(note, in: path)
    let effect = try reversed(note, in: store, make: true)
    try remove()
    folder.announceChange()
    return effect
  }

  private func reversed(_ note: TrialNote, in store: GatewayStore, make: Bool) throws -> DeclaredFiles.Effect {
    let requests = { (work: inout Administration) throws(GatewayError) -> DeclaredFiles.Effect in
      try note.reversal.carryOut(in: &work)
      return DeclaredFiles.Effect(work, folder)
    }
    let (actor, now) = (Actor.current, Timestamp.now.wholeSecond)
    let effect = try make ? store.change(as: actor, at: now, requests) : store.tryOut(as: actor, at: now, requests)
    return effect.adding(try settings(note, make: make))
  }

  /// The settings that the trial has changed, and that are since as it made them.
  private func settings(_ note: TrialNote, make: Bool) throws -> [ChangeSummary] {
    var parts: [ChangeSummary] = []
    for change in note.settings {
      guard let setting = SettingFile(rawValue: change.name), try setting.text(in: folder) == change.after else { continue }
      parts.append(try setting.change(in: folder, to: change.before))
      if make { try folder.set(setting, to: change.before) }
    }
    if let logins = note.logins, try (folder.loginIdentity() != nil) != logins {
      parts.append(LoginKeyFile.summary(of: logins))
      if make { try LoginKeyFile(folder).set(logins) }
    }
    return parts
  }

  /// In one step for all others.
  private func remove() throws {
    let old = "\(path).old"
    clear(old)
    guard rename(path, old) == 0 || errno == ENOENT else { throw SystemError.last("rename \(path)") }
    FaultPoint.pass("after renaming to \(old)")
    clear(old)
  }

  private func clear(_ path: String) {
    for name in Folder.names(in: filesPath(path)) { unlink("\(filesPath(path))/\(name)") }
    rmdir(filesPath(path))
    for name in Folder.names(in: path) { unlink("\(path)/\(name)") }
    rmdir(path)
  }
}
