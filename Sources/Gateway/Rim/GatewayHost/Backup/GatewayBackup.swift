internal import CSodium
package import GatewayCore
internal import GatewayCredentials
internal import GatewayLogin
internal import GatewaySource
internal import GatewayStore
internal import Glibc
internal import KernelModel
internal import KeyMemory
internal import LinuxIO
internal import NetworkTypes

/// Everything that makes a gateway itself, where it is on this machine.
package struct GatewayPlace: Sendable {
  package let folder: StateFolder
  /// The folder of the administrator's files that declare the gateway; `nil`: a gateway with a folder of its own has none.
  package let declared: String?

  package init(_ folder: StateFolder) {
    self.init(folder, declared: folder == .standard ? DeclaredFiles.standardLayers.last : nil)
  }

  package init(_ folder: StateFolder, declared: String?) {
    self.folder = folder
    self.declared = declared
  }

  /// Whether a folder has a gateway: something that cannot be made again.
  static func hasGateway(_ path: String) -> Bool {
    [BackupManifest.store, "store", BackupManifest.key, BackupManifest.login, BackupManifest.restingLogin].contains {
      access("\(path)/\($0)", F_OK) == 0
    }
  }

  /// The files outside of the gateway's folders that its settings name.
  static func namedElsewhere(_ folder: StateFolder) -> [String] {
    let openID = (try? folder.openIDSettings()) ?? nil
    let pam = (try? folder.pamSettings()) ?? nil
    return [openID?.secretFile, openID?.authorityFile, pam.map { "/etc/pam.d/\($0.service)" }].compactMap { $0 }
  }

  /// The regular files of a folder and of the folders in it, by their paths there, with their permissions. Links lead to their files.
  static func files(in folder: String, below: String = "", depth: Int = 0) throws(GatewayError) -> [(name: String, mode: UInt16)] {
    var found: [(name: String, mode: UInt16)] = []
    for name in Folder.names(in: folder) {
      let path = "\(folder)/\(name)"
      var information = stat()
      guard stat(path, &information) == 0 else { continue }
      switch information.st_mode & S_IFMT {
      case S_IFREG: found.append((below + name, UInt16(information.st_mode & 0o777)))
      case S_IFDIR:
        guard depth < 8 else { throw GatewayError("\(path) is too deep for a backup", help: "move it out of the folder") }
        found += try files(in: path, below: "\(below)\(name)/", depth: depth + 1)
      default: break
      }
      guard found.count <= 1000 else { throw GatewayError("\(folder) has more than 1000 files", help: "move others out of the folder") }
    }
    return found
  }
}

/// The gateway of a backup, in the words of a report.
package struct BackupReport: Sendable {
  package let manifest: BackupManifest
  package let directory: Directory
  /// The pin by which clients know the gateway at logins; `nil`: there are no logins.
  package let pin: String?

  /// The gateway of a prepared or present folder.
  init(_ manifest: BackupManifest, _ directory: Directory, login: String?) {
    self.manifest = manifest
    self.directory = directory
    pin = login.flatMap(LoginIdentity.pin(of:))
  }

  /// Its identity and contents, as settings with a line for each.
  package var settings: String {
    var lines = ["backup \(manifest.made)"] + Self.lines(directory, pin: pin)
    if !manifest.declared.isEmpty { lines.append("files \(manifest.declared.joined(separator: ", "))") }
    return lines.map { $0 + "\n" }.joined()
  }

  /// The same without the time, for people.
  package var lines: [String] { settings.split(separator: "\n").dropFirst().map(String.init) }

  /// The same of a gateway that is there; empty if it cannot be read.
  static func settings(of place: GatewayPlace) -> String {
    guard let directory = try? place.folder.store().load().directory else { return "" }
    let login = (try? place.folder.loginIdentity()) ?? nil
    var lines = lines(directory, pin: login.flatMap(LoginIdentity.pin(of:)))
    let names = place.declared.flatMap { try? GatewayPlace.files(in: $0) } ?? []
    if !names.isEmpty { lines.append("files \(names.map(\.name).sorted().joined(separator: ", "))") }
    return lines.map { $0 + "\n" }.joined()
  }

  private static func lines(_ directory: Directory, pin: String?) -> [String] {
    var lines = ["users \(directory.users.count)", "devices \(directory.devices.count)"]
    if let site = directory.site { lines += ["endpoint \(site.endpoint)", "key \(base64(site.publicKey.bytes))"] }
    if let pin { lines.append("pin \(pin)") }
    return lines
  }
}

/// Makes a backup of a gateway, which may run.
package struct GatewayBackup {
  private let place: GatewayPlace
  private let passphrase: [UInt8]?
  private let release: String
  private let cost: (operations: UInt32, memory: UInt32)

  /// `passphrase`: of an encrypted backup. `cheap`: with the least cost of a passphrase, for tests alone.
  package init(_ place: GatewayPlace, passphrase: [UInt8]? = nil, release: String, cheap: Bool = false) {
    self.place = place
    self.passphrase = passphrase
    self.release = release
    cost = cheap ? (1, 8) : BackupSeal.usual
  }

  /// Writes a backup into a file, as a whole or not at all. `database`: the place of the store, if that is no file. `replacing`: an earlier
  /// file of this name is replaced. Returns its contents, and the files that settings name elsewhere, which it does not have.
  package func write(to path: String, database: String?, replacing: Bool) throws -> (report: BackupReport, elsewhere: [String]) {
    guard replacing || access(path, F_OK) != 0 else {
      throw GatewayError("\(path) is there already", help: "choose another name, or replace it with `--replace`")
    }
    // Their changes would be for good in the gateway that is restored.
    try FileTrial(place.folder).refuseSecond()
    let work = try WorkFolder(place.folder)
    let copy = "\(work.path)/\(BackupManifest.store)"
    let store = try place.folder.store()
    try TextFile.create(copy, with: [], mode: 0o600)
    try store.backUp(to: copy)
    FaultPoint.pass("after copying the store")
    let directory = try GatewayStore(try SQLiteEngine(copy), viewpoint: place.folder.viewpoint).load().directory
    var files = try secrets(directory) + settings()
    defer { for i in files.indices { sodium_memzero(&files[i].bytes, files[i].bytes.count) } }
    files += try declared()
    var entries = files.map {
      BackupManifest.Entry(name: $0.name, mode: $0.mode, size: $0.bytes.count, digest: GatewayStore.digest($0.bytes))
    }
    entries.append(try storeEntry(copy))
    let manifest = BackupManifest(made: Timestamp.now, release: release, database: database, entries: entries)
    try publish(manifest, files, copy, at: path, replacing: replacing)
    let login = files.first { $0.name == BackupManifest.login }.map { String(decoding: $0.bytes, as: UTF8.self) }
    return (BackupReport(manifest, directory, login: login), GatewayPlace.namedElsewhere(place.folder))
  }

  private struct File {
    let name: String
    let mode: UInt16
    var bytes: [UInt8]
  }

  /// The key and the identity of logins, which may be credentials of systemd.
  private func secrets(_ directory: Directory) throws -> [File] {
    guard let site = directory.site else { throw GatewayError.notInitialised }
    guard let key = try place.folder.privateKey() else {
      throw GatewayError(
        "\(place.folder.keyPath) is not there, and without the private key a backup is no gateway",
        help: "with the credential of systemd: systemd-run --pipe --property=LoadCredential=gateway.key:PATH roamward-gateway backup FILE")
    }
    guard key.publicKey == site.publicKey else {
      throw GatewayError("\(place.folder.keyPath) is not the key that clients know", help: "put the right one back")
    }
    var files = [File(name: BackupManifest.key, mode: 0o600, bytes: Array((key.base64 + "\n").utf8))]
    if let login = try place.folder.loginIdentity() {
      files.append(File(name: BackupManifest.login, mode: 0o600, bytes: Array(login.utf8)))
    }
    let resting = "\(place.folder.path)/\(BackupManifest.restingLogin)"
    if access(resting, F_OK) == 0 {
      files.append(File(name: BackupManifest.restingLogin, mode: 0o600, bytes: try TextFile.read(resting, limit: 16_384)))
    }
    return files
  }

  private func settings() throws(SystemError) -> [File] {
    var files: [File] = []
    for setting in SettingFile.allCases where access(place.folder.path(of: setting), F_OK) == 0 {
      let bytes = try TextFile.read(place.folder.path(of: setting), limit: BackupManifest.fileLimit)
      files.append(File(name: setting.rawValue, mode: 0o600, bytes: bytes))
    }
    return files
  }

  private func declared() throws -> [File] {
    guard let folder = place.declared else { return [] }
    return try GatewayPlace.files(in: folder).map { file in
      let name = BackupManifest.declared + file.name
      guard BackupManifest.isDeclaredName(name) else {
        throw GatewayError("\(folder)/\(file.name): the name is too long for a backup, or has control characters", help: "rename it")
      }
      return File(name: name, mode: file.mode, bytes: try TextFile.read("\(folder)/\(file.name)", limit: BackupManifest.fileLimit))
    }
  }

  private func storeEntry(_ copy: String) throws -> BackupManifest.Entry {
    var (hash, size) = (FileHash(), 0)
    try Self.parts(of: copy) { part throws(SystemError) in
      hash.add(part)
      size += part.count
    }
    guard size <= BackupManifest.sizeLimit else { throw GatewayError("the store is larger than 8 GiB, which no backup can have") }
    return BackupManifest.Entry(name: BackupManifest.store, mode: 0o600, size: size, digest: hash.digest)
  }

  private static func parts(of path: String, _ body: ([UInt8]) throws(SystemError) -> Void) throws(SystemError) {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw .last("open \(path)") }
    let file = FileDescriptor(owning: number)
    while let part = try file.read(), !part.isEmpty { try body(part) }
  }

  /// Writes the archive beside its place, and gives it its name once it is on the disk.
  private func publish(_ manifest: BackupManifest, _ files: [File], _ copy: String, at path: String, replacing: Bool) throws {
    let temporary = path + TextFile.temporarySuffix
    FaultPoint.pass("before writing \(path)")
    unlink(temporary)
    let number = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw SystemError.last("create \(temporary)") }
    let file = FileDescriptor(owning: number)
    do {
      let writer = try BackupWriter(file, passphrase, cost: cost)
      func header(_ name: String, _ mode: UInt16, _ size: Int) throws {
        try writer.write(TapeHeader.bytes(name: name, mode: mode, size: size, seconds: manifest.made.seconds))
      }
      func end(_ size: Int) throws { try writer.write([UInt8](repeating: 0, count: TapeHeader.padding(after: size))) }
      let list = Array(manifest.text(GatewayStore.digest).utf8)
      guard list.count <= BackupManifest.limit else { throw GatewayError("the list of files is too long for a backup") }
      try header(BackupManifest.name, 0o600, list.count)
      try writer.write(list)
      try end(list.count)
      for entry in manifest.entries {
        try header(entry.name, entry.mode, entry.size)
        if let file = files.first(where: { $0.name == entry.name }) {
          try writer.write(file.bytes)
        } else {
          try Self.parts(of: copy) { part throws(SystemError) in try writer.write(part) }
        }
        try end(entry.size)
        FaultPoint.pass("after writing \(entry.name)")
      }
      try writer.write([UInt8](repeating: 0, count: TapeHeader.end))
      try writer.finish()
      guard fsync(number) == 0 else { throw SystemError.last("write \(temporary)") }
      FaultPoint.pass("before renaming to \(path)")
      try Folder.put(temporary, at: path, replacing: replacing)
    } catch {
      unlink(temporary)
      throw error
    }
    FaultPoint.pass("after writing \(path)")
  }
}

/// SHA-256 of a file in parts.
struct FileHash {
  private var state = crypto_hash_sha256_state()

  init() { crypto_hash_sha256_init(&state) }

  mutating func add(_ bytes: [UInt8]) { crypto_hash_sha256_update(&state, bytes, UInt64(bytes.count)) }

  var digest: [UInt8] {
    var (last, hash) = (state, [UInt8](repeating: 0, count: Int(crypto_hash_sha256_bytes())))
    crypto_hash_sha256_final(&last, &hash)
    return hash
  }
}

/// The folder in which a backup is prepared: inside the gateway's, because the copy of the store has its secrets. One backup at a time has
/// it; what a killed one has left, the next one removes.
private final class WorkFolder {
  let path: String
  private let lock: FileDescriptor

  init(_ folder: StateFolder) throws {
    path = "\(folder.path)/backup.new"
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemError.last("make \(path)") }
    let number = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard number >= 0 else { throw SystemError.last("open \(path)") }
    lock = FileDescriptor(owning: number)
    guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
      throw GatewayError("another backup of this gateway is being made", help: "try again when it is done")
    }
    clear()
  }

  private func clear() { for name in Folder.names(in: path) { unlink("\(path)/\(name)") } }

  deinit {
    clear()
    rmdir(path)
  }
}
