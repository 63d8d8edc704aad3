package import GatewayCore
internal import GatewayCredentials
internal import GatewayLogin
package import GatewaySource
package import GatewayStore
internal import Glibc
internal import KernelModel
internal import KeyMemory
internal import LinuxIO
package import NetworkTypes
internal import PolicyFiles
package import PolicySource

/// The files that declare a gateway, and what carries them out: in the store, and in this machine's own settings.
package struct DeclaredFiles: Sendable {
  let folder: StateFolder
  /// Folders and files, later ones before earlier ones.
  package let layers: [String]
  /// The same with files on trial, which are over all others.
  private var present: [String] { layers + (FileTrial(folder).layer.map { [$0] } ?? []) }

  /// The name of the link where none is said.
  package static let usualLink = InterfaceName("wg-gateway")
  /// The folders of the usual gateway. A file in a later one replaces that of its name in an earlier one.
  package static let standardLayers = ["/usr/lib/roamward-gateway", "/run/roamward-gateway", "/etc/roamward-gateway"]

  /// `layers`: none are the usual ones, which a gateway with a folder of its own does not have.
  package init(_ folder: StateFolder, layers: [String] = []) {
    self.folder = folder
    let own = layers.isEmpty && folder == .standard ? Self.standardLayers : layers
    self.layers = own.map { PolicyFileSystem.linux.absolute($0) }
  }

  /// The folders in which the files are, and a trial: a single file is replaced in its folder.
  var folders: Set<String> {
    Set(
      present.map { path in
        var information = stat()
        guard stat(path, &information) == 0, information.st_mode & S_IFMT != S_IFDIR else { return path }
        return path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? path
      }
    ).union(FileTrial(folder).traces.map { [$0.folder] } ?? [])
  }

  /// The names, places and times of the present files, and of a trial: those of another moment have others.
  var signature: [String] {
    (present + (FileTrial(folder).traces.map { [$0.file] } ?? [])).flatMap { layer in
      let names = Folder.names(in: layer).sorted().map { "\(layer)/\($0)" }
      return (names.isEmpty ? [layer] : names).map { path in
        var information = stat()
        guard stat(path, &information) == 0 else { return path }
        return "\(path) \(information.st_ino) \(information.st_size) \(information.st_ctim.tv_sec).\(information.st_ctim.tv_nsec)"
      }
    }
  }

  /// Whether this user may look at the store, or there is none yet. What is in it would else be taken for missing.
  package var mayReadStore: Bool { folder.mayRead }

  /// Whether any file declares this gateway.
  package var hasFiles: Bool { !load().files.isEmpty }

  /// Reads the files. As root, those that others could have written are refused.
  package func load() -> LoadedGatewayFiles { load(over: []) }

  /// Reads the files with others over them.
  package func load(over paths: [String]) -> LoadedGatewayFiles { Self.load(present + paths.map(PolicyFileSystem.linux.absolute)) }

  /// Reads the files, with other bytes for one of them.
  func load(replacing path: String, with bytes: [UInt8]) -> LoadedGatewayFiles {
    var files = PolicyFileSystem.linux
    let read = files.read
    files.read = { (other, limit) throws(FileFailure) in
      let found = try read(other, limit)
      return other == path ? (bytes, found.status) : found
    }
    return Self.load(present, files)
  }

  private static func load(_ layers: [String], _ files: PolicyFileSystem = .linux) -> LoadedGatewayFiles {
    loadGatewayFiles(layers: layers, files: files, requireRootOwnership: geteuid() == 0)
  }

  /// The changes that the files make.
  package struct Effect: Sendable {
    /// The store, and then each setting of this gateway alone.
    package let parts: [ChangeSummary]
    /// The number of concerned devices that are connected, just before; `nil`: not known.
    package let connected: Int?

    /// The lines for a person; none where nothing changes.
    package var lines: [String] { isEmpty ? [] : ChangeSummary(joining: parts).text(connected: connected) }

    package var isEmpty: Bool { parts.allSatisfy(\.isEmpty) }

    init(parts: [ChangeSummary], connected: Int?) { (self.parts, self.connected) = (parts, connected) }

    /// Of requests to the store.
    init(_ work: Administration, _ folder: StateFolder) {
      let summary = ChangeSummary(work)
      let connected = summary.devices.isEmpty ? nil : HostExamination.countConnected(summary.devices, of: work.directory, folder)
      self.init(parts: [summary], connected: connected)
    }

    func adding(_ others: [ChangeSummary]) -> Effect { Effect(parts: parts + others, connected: connected) }
  }

  /// The reason why files are not carried out: everything stays as it was.
  package struct Refusal: Error, Sendable, CustomStringConvertible {
    package let diagnostics: [Diagnostic]

    package var description: String { diagnostics.map { $0.rendered() }.joined(separator: "\n") }
  }

  /// Computes what carrying out would change, and changes nothing. A gateway that is not there yet is computed as a new one.
  package func effect(of loaded: LoadedGatewayFiles) throws -> Effect { try carryOut(loaded, isDry: true) }

  /// Makes the gateway what its files say; one that is not there yet begins with them. `store`: its store where it is open; `nil`: it is
  /// opened for this alone.
  package func apply(_ loaded: LoadedGatewayFiles, in store: GatewayStore? = nil) throws -> Effect {
    try carryOut(loaded, isDry: false, in: store)
  }

  /// The same; `keep` gets what takes the changes of the store back, before they are in force.
  func apply(_ loaded: LoadedGatewayFiles, keep: @escaping (Reversal) throws(SystemError) -> Void) throws -> Effect {
    try carryOut(loaded, isDry: false, keep: keep)
  }

  private func carryOut(
    _ loaded: LoadedGatewayFiles, isDry: Bool, in open: GatewayStore? = nil, keep: ((Reversal) throws(SystemError) -> Void)? = nil
  ) throws -> Effect {
    if loaded.hasErrors { throw Refusal(diagnostics: loaded.diagnostics.filter { $0.severity == .error }) }
    guard mayReadStore else {
      throw GatewayError("root alone may read the gateway in \(folder.path)", help: "run the command as root")
    }
    if loaded.files.isEmpty {
      if !isDry { try forget(in: open) }
      return Effect(parts: [], connected: nil)
    }
    try HostChange(loaded.file.host, in: folder).check { text, help, place in
      Refusal(diagnostics: [loaded.diagnostic(text, help: help, at: place)])
    }
    let isNew = try !folder.hasStoreFile && folder.storeServer() == nil
    let key: SecretKey
    if isDry {
      key = try folder.privateKey() ?? SecretKey.random()
    } else {
      try folder.make()
      key = try folder.privateKey() ?? folder.makePrivateKey()
    }
    guard let publicKey = key.publicKey else { throw GatewayError("the private key has no public key") }
    let requests = { (work: inout Administration) throws(GatewayError) -> Effect in
      let fault = loaded.file.carryOut(in: &work, publicKey)
      if let fault { throw GatewayError(loaded.diagnostic(fault.error.text, help: fault.error.help, at: fault.place).rendered()) }
      if let keep { do throws(SystemError) { try keep(Reversal(work)) } catch { throw GatewayError("\(error)") } }
      return Effect(work, folder)
    }
    let store = isDry && isNew ? nil : try open ?? folder.store(creating: !isDry)
    let effect: Effect
    if let store, !isDry {
      effect = try store.change(as: Self.actor, at: Timestamp.now.wholeSecond, requests)
    } else if let store {
      effect = try store.tryOut(as: Self.actor, at: Timestamp.now.wholeSecond, requests)
    } else {
      var work = Administration(Directory(viewpoint: publicKey), lastID: 0, actor: Self.actor, now: Timestamp.now.wholeSecond)
      effect = try requests(&work)
    }
    let host = try HostChange(loaded.file.host, in: folder).run(as: Self.actor, store, isDry: isDry)
    if !isDry { folder.announceChange() }
    return effect.adding(host)
  }

  /// Lets commands change again what no file declares any more.
  private func forget(in open: GatewayStore?) throws {
    guard let store = try open ?? (folder.hasStoreFile || folder.storeServer() != nil ? folder.store() : nil),
      let directory = try? store.load(.users([])), !directory.marks.rows.isEmpty
    else { return }
    try store.change(as: Self.actor, at: Timestamp.now.wholeSecond) { work throws(GatewayError) in Convergence.forget(in: &work) }
  }

  /// The author of these changes in the audit log.
  private static var actor: String { "files (\(Actor.current))" }
}

extension GatewayFile {
  /// Carries out what the files declare. Returns what stopped it: the first declaration that is not possible, or a test of access that
  /// fails.
  fileprivate func carryOut(in work: inout Administration, _ publicKey: WireGuardKey) -> DeclarationFault? {
    let isNew = work.directory.site == nil
    do throws(DeclarationFault) {
      try Convergence.carryOut(declaration, also: host.subjects, publicKey: publicKey, link: DeclaredFiles.usualLink, in: &work)
    } catch { return error }
    if isNew, declaration.pools == nil {
      do throws(GatewayError) { try UniqueLocal.addUsualPools(to: &work) } catch { return DeclarationFault(place: nil, error: error) }
    }
    if let fault = host.fault(in: work.directory) { return fault }
    for test in expectations {
      if let error = test.value.fault(in: work.directory) { return DeclarationFault(place: test.place, error: error) }
    }
    return nil
  }
}

// Files from elsewhere.
extension DeclaredFiles {
  /// A file to be written, also an empty one, which masks others.
  package struct NamedFile: Sendable {
    package let name: String
    let bytes: [UInt8]
    let mode: UInt32
  }

  /// The files of folders, and single files.
  package static func gather(_ paths: [String]) throws -> [NamedFile] {
    let absolute = paths.map(PolicyFileSystem.linux.absolute)
    for path in absolute {
      // A single file may have any name, but not in a folder.
      let beside = Layers([Folder.parent(of: path)], files: .linux).ignored
      guard let ignored = beside.first(where: { $0.path == path && !$0.isMask }) else { continue }
      var information = stat()
      guard stat(path, &information) == 0, information.st_mode & S_IFMT != S_IFDIR else { continue }
      throw GatewayError("\(path) would be ignored in a folder: \(ignored.reason)", help: "rename it, such as to 10-network.yaml")
    }
    let loaded = load(absolute)
    let found = loaded.files + loaded.ignored.filter(\.isMask).map(\.path)
    guard !found.isEmpty else {
      throw GatewayError("no files in \(paths.joined(separator: ", "))", help: "their names end in .yaml or .json")
    }
    return try found.map { path in
      var status = stat()
      guard stat(path, &status) == 0 else { throw SystemError.last("read \(path)") }
      let name = path.split(separator: "/").last.map(String.init) ?? path
      // Others may read it, if they may now; none may write it.
      return NamedFile(name: name, bytes: try TextFile.read(path), mode: 0o600 | UInt32(status.st_mode) & 0o044)
    }
  }

  /// The folder into which files are written: the last one of the layers.
  func destination() throws -> String {
    guard let last = layers.last else {
      throw GatewayError("this gateway has no folder of files", help: "give its folder with --files")
    }
    var information = stat()
    guard stat(last, &information) == 0, information.st_mode & S_IFMT != S_IFDIR else { return last }
    throw GatewayError("\(last) is a file, into which no others can be written", help: "give a folder with --files")
  }

  /// Writes files into the gateway's own folder. Each is replaced as a whole.
  package func install(_ files: [NamedFile]) throws {
    let folder = try destination()
    try Folder.make(folder, mode: 0o755)
    for file in files { try TextFile.replace("\(folder)/\(file.name)", with: file.bytes, mode: file.mode) }
  }
}
