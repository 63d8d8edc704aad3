internal import CSodium
package import GatewayCore
internal import GatewayCredentials
internal import GatewaySource
internal import GatewayStore
internal import Glibc
internal import HostFindings
internal import KernelModel
internal import KeyMemory
internal import LinuxIO
internal import NetworkTypes

/// Makes a gateway from a backup. Everything is prepared and checked in folders beside the places, and then exchanged with them: killed at
/// any step, there is the old gateway or the new one, and the next `restore` removes what was prepared, or finishes the exchange.
package final class GatewayRestore {
  private let place: GatewayPlace
  private let replacing: Bool
  private let state: SwappedFolder
  /// `nil`: the declared files of the backup have no place here, or others are there.
  private let declared: SwappedFolder?
  private let reader: BackupReader
  private let manifest: BackupManifest

  /// The effect of a restore.
  package struct Effect: Sendable {
    package let report: BackupReport
    package let summary: ChangeSummary
    /// Sentences for the administrator.
    package let notes: [String]
    /// An earlier restore of the same backup was interrupted after the exchange, and is finished now.
    package let isFinished: Bool
  }

  /// Opens a backup and reads its list of files. `passphrase` is asked for if it is encrypted; `replacing`: a gateway that is there gives
  /// way, and its folders are kept under other names.
  package init(_ file: String, to place: GatewayPlace, replacing: Bool, passphrase: () throws -> [UInt8]) throws {
    self.place = place
    self.replacing = replacing
    state = SwappedFolder(place.folder.path)
    reader = try BackupReader(file, passphrase: passphrase)
    manifest = try Self.manifest(reader)
    let isFree = try place.declared.map { try replacing || GatewayPlace.files(in: $0).isEmpty } ?? false
    let isUsed = !manifest.declared.isEmpty || replacing && place.declared.map { access($0, F_OK) == 0 } ?? false
    declared = isFree && isUsed ? place.declared.map(SwappedFolder.init) : nil
  }

  private static func manifest(_ reader: BackupReader) throws -> BackupManifest {
    let header = try beginning(reader)
    guard let (size, seconds) = TapeHeader.values(of: header), size <= BackupManifest.limit,
      header == TapeHeader.bytes(name: BackupManifest.name, mode: 0o600, size: size, seconds: seconds)
    else { throw noBackup }
    guard let text = String(validating: try reader.read(size), as: UTF8.self) else { throw BackupManifest.damaged("its list is no text") }
    let manifest = try BackupManifest(parsing: text, settings: SettingFile.allCases.map(\.rawValue), GatewayStore.digest)
    guard manifest.made.seconds == seconds else { throw BackupManifest.damaged("its times differ") }
    try skipZeros(TapeHeader.padding(after: size), reader)
    return manifest
  }

  private static let noBackup = GatewayError(
    "this is no backup of a gateway",
    help: "give a file that `roamward-gateway backup` made; a file of `store move --copy-only` is a store alone")

  /// The first header; a file that is shorter is no backup.
  private static func beginning(_ reader: BackupReader) throws -> [UInt8] {
    do { return try reader.read(TapeHeader.size) } catch is GatewayError { throw noBackup }
  }

  private static func skipZeros(_ count: Int, _ reader: BackupReader) throws {
    guard try reader.read(count).allSatisfy({ $0 == 0 }) else { throw BackupManifest.damaged("there is something between its files") }
  }

  /// Restores the gateway; a trial reads and checks everything, and changes nothing.
  package func run(isTrial: Bool) throws -> Effect {
    if !isTrial { try place.folder.make() }
    let lock = try FileNature.exists(place.folder.path) ? takeLock() : nil
    defer { withExtendedLifetime(lock) {} }
    if isTrial {
      guard state.unfinished == nil else { throw Self.interrupted }
    } else if let mark = state.unfinished {
      let notes = try finish()
      if mark == self.mark { return try finishedEffect(notes) }
    }
    guard replacing || !GatewayPlace.hasGateway(place.folder.path) else {
      throw GatewayError(
        "a gateway is in \(place.folder.path) already",
        help: "`--replace` keeps its folder under another name; `--dry-run` shows what would change")
    }
    if !isTrial, let folder = place.declared { try SwappedFolder(folder).clear() }
    try state.begin(mode: 0o700, mark: mark)
    do {
      if !isTrial { try declared?.begin(mode: 0o755, mark: mark) }
      let report = try prepare(isTrial: isTrial)
      let notes = notes(on: prepared)
      let summary = ChangeSummary(
        setting: "gateway", from: replacing ? BackupReport.settings(of: place) : nil, to: report.settings)
      if isTrial {
        try state.clear()
        return Effect(report: report, summary: summary, notes: notes, isFinished: false)
      }
      try record()
      return Effect(report: report, summary: summary, notes: try install() + notes, isFinished: false)
    } catch {
      if state.unfinished == nil { try? state.clear() }
      if let declared, !isTrial, declared.unfinished == nil { try? declared.clear() }
      throw error
    }
  }

  /// Takes the lock of a gateway; throws if one runs.
  private func takeLock() throws -> FileDescriptor {
    guard let lock = try place.folder.lock(patience: .milliseconds(200)) else {
      throw GatewayError(
        "a gateway runs with \(place.folder.path)", help: "`systemctl stop roamward-gateway`, then again; everybody stays connected")
    }
    return lock
  }

  /// The rests of a restore that was interrupted, as `doctor` judges them.
  static func findings(_ folder: StateFolder) -> [HostFinding] {
    let state = SwappedFolder(folder.path)
    if state.unfinished != nil {
      return [
        HostFinding(
          "restore", .problem, "a restore was interrupted at its end: declared files may be those of the gateway before",
          cure: "stop the gateway, and run the same `roamward-gateway restore` again")
      ]
    }
    guard state.isPrepared else { return [] }
    return [
      HostFinding(
        "restore", .risk, "a restore was interrupted, and changed nothing; \(state.beside) has what it prepared, with the private key",
        cure: "stop the gateway and run the restore again, or remove that folder")
    ]
  }

  private static let interrupted = GatewayError(
    "an earlier restore was interrupted, and is not finished", help: "run it again without `--dry-run`")

  /// The mark of this backup.
  private var mark: String { GatewayStore.digest(Array(manifest.text(GatewayStore.digest).utf8)).map(hexadecimal).joined() }

  private var prepared: StateFolder { StateFolder(state.beside) }

  /// After an exchange that an earlier process has made.
  private func finishedEffect(_ notes: [String]) throws -> Effect {
    let report = BackupReport(
      manifest, try place.folder.store().load().directory, login: try place.folder.loginIdentity())
    return Effect(
      report: report, summary: ChangeSummary(setting: "gateway", from: nil, to: report.settings),
      notes: notes + self.notes(on: place.folder),
      isFinished: true)
  }
}

// Preparing.
extension GatewayRestore {
  /// Writes all files of the backup into the prepared folders, and checks the store.
  private func prepare(isTrial: Bool) throws -> BackupReport {
    for entry in manifest.entries {
      let header = TapeHeader.bytes(name: entry.name, mode: entry.mode, size: entry.size, seconds: manifest.made.seconds)
      guard try reader.read(TapeHeader.size) == header else { throw BackupManifest.damaged("\(entry.name) is not where it should be") }
      try extract(entry, to: path(of: entry, isTrial: isTrial))
      try Self.skipZeros(TapeHeader.padding(after: entry.size), reader)
      FaultPoint.pass("after extracting \(entry.name)")
    }
    try Self.skipZeros(TapeHeader.end, reader)
    guard try reader.isAtEnd else { throw BackupManifest.damaged("something follows its end") }
    return try check()
  }

  /// `nil`: the file is read, and not written.
  private func path(of entry: BackupManifest.Entry, isTrial: Bool) -> String? {
    guard entry.name.hasPrefix(BackupManifest.declared) else { return "\(state.beside)/\(entry.name)" }
    return isTrial ? nil : declared.map { "\($0.beside)/\(entry.name.dropFirst(BackupManifest.declared.count))" }
  }

  private func extract(_ entry: BackupManifest.Entry, to path: String?) throws {
    var output: FileDescriptor?
    if let path {
      try Folder.make(Folder.parent(of: path), mode: entry.name.hasPrefix(BackupManifest.declared) ? 0o755 : 0o700)
      let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode_t(entry.mode))
      guard number >= 0 else { throw SystemError.last("create \(path)") }
      output = FileDescriptor(owning: number)
      fchmod(number, mode_t(entry.mode))
    }
    var (hash, rest) = (FileHash(), entry.size)
    while rest > 0 {
      var part = Array(try reader.read(atMost: min(rest, 65_536)))
      defer { sodium_memzero(&part, part.count) }
      hash.add(part)
      try output?.writeAll(part)
      rest -= part.count
    }
    guard hash.digest == entry.digest else { throw BackupManifest.damaged("\(entry.name) is not as it was written") }
    if let output, let path, fsync(output.number) != 0 { throw SystemError.last("write \(path)") }
  }

  /// The prepared gateway is whole: its key is that of its store, in which everything fits together.
  private func check() throws -> BackupReport {
    guard let key = try SecretKey(base64: line(of: BackupManifest.key)), let viewpoint = key.publicKey else {
      throw BackupManifest.damaged("\(BackupManifest.key) is no private key")
    }
    let store = try GatewayStore(try SQLiteEngine(prepared.storePath), viewpoint: viewpoint)
    let problems = try store.problems()
    guard problems.isEmpty else {
      throw GatewayError(
        "the store of the backup has problems: \(problems.prefix(5).joined(separator: "; "))", help: "use another backup")
    }
    let directory = try store.load().directory
    guard directory.site?.publicKey == viewpoint else { throw BackupManifest.damaged("its key is not that of its store") }
    var login: String?
    if manifest[BackupManifest.login] != nil {
      login = String(decoding: try TextFile.read(prepared.loginPath, limit: 16_384), as: UTF8.self)
      guard login.flatMap(LoginIdentity.pin(of:)) != nil else { throw BackupManifest.damaged("\(BackupManifest.login) is no certificate") }
    }
    return BackupReport(manifest, directory, login: login)
  }

  private func line(of name: String) throws(SystemError) -> String {
    String(decoding: try TextFile.read("\(state.beside)/\(name)", limit: 1024).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  private func record() throws {
    let store = try GatewayStore(try SQLiteEngine(prepared.storePath))
    let record = AuditEntry.Record(
      actor: Actor.current, verb: "restore", object: "gateway", detail: "from the backup of \(manifest.made)")
    try store.record([record], at: Timestamp.now.wholeSecond)
  }
}

// Installing.
extension GatewayRestore {
  /// Exchanges the folders, the gateway's own first: its mark says that the rest is to be finished.
  private func install() throws -> [String] {
    // A gateway that is started before the end waits for this lock, and is refused.
    let lock = try prepared.lock()
    defer { withExtendedLifetime(lock) {} }
    do { try state.exchange() } catch {
      throw GatewayError(
        "\(error)", help: "the file system cannot exchange folders; `mv` \(place.folder.path) away, then try again")
    }
    return try finish()
  }

  /// Does what is left after the exchange of the gateway's folder. Returns what an administrator should know.
  private func finish() throws -> [String] {
    var notes: [String] = []
    if let folder = place.declared {
      let declared = SwappedFolder(folder)
      if declared.isPrepared { try declared.exchange() }
      let aside = Self.aside(declared.path)
      if try declared.finish(aside: aside, isKept: { !((try? GatewayPlace.files(in: $0)) ?? []).isEmpty }) {
        notes.append("the files that were in \(folder) are in \(aside) now")
      }
    }
    let aside = Self.aside(state.path)
    if try state.finish(aside: aside, isKept: GatewayPlace.hasGateway) {
      notes.append("the gateway that was in \(place.folder.path) is in \(aside) now")
    }
    return notes
  }

  /// A free name beside a folder, with the time.
  private static func aside(_ path: String) -> String {
    let time = Timestamp.now.wholeSecond.description.prefix(19).filter { $0 != ":" }
    let names = [""] + (2...1000).map { "-\($0)" }
    return names.map { "\(path).\(time)\($0)" }.first { !FileNature.exists($0) } ?? "\(path).\(time)"
  }

  private func notes(on folder: StateFolder) -> [String] {
    var notes: [String] = []
    if let database = manifest.database {
      notes.append(
        "the store was a database (\(database)); it is the file \(place.folder.storePath) now, and changes of either do not reach the other. "
          + "`roamward-gateway store move` brings it to an empty database")
    }
    if !manifest.declared.isEmpty, declared == nil {
      let files = manifest.declared.joined(separator: ", ")
      notes.append(
        place.declared.map { "\($0) has files, which are left; those of the backup are not restored (\(files)): `--replace` does that" }
          ?? "declared files of the backup are not restored (\(files)): a gateway with a folder of its own has none")
    }
    for path in GatewayPlace.namedElsewhere(folder) where !FileNature.exists(path) {
      notes.append("\(path) is missing here, and no backup has it")
    }
    return notes
  }
}
