internal import GatewayCore
package import GatewaySource
internal import GatewayStore
internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import NetworkTypes
internal import PolicyFiles
internal import PolicySource

/// A change of one setting: in the file that declares it, else in the gateway itself.
package struct SettingChange {
  private let files: DeclaredFiles
  private let folder: StateFolder
  private let edit: SettingEdit

  package init(_ edit: SettingEdit, of files: DeclaredFiles, in folder: StateFolder) {
    (self.edit, self.files, self.folder) = (edit, files, folder)
  }

  /// The outcome of a change.
  package struct Outcome: Sendable {
    package let effect: DeclaredFiles.Effect
    /// The file that was changed; `nil`: no file declares the setting.
    package let path: String?
    /// Whether the audit log has the change.
    package let isRecorded: Bool

    fileprivate init(effect: DeclaredFiles.Effect, path: String?, isRecorded: Bool = true) {
      (self.effect, self.path, self.isRecorded) = (effect, path, isRecorded)
    }
  }

  /// Makes the change, or finds out only what it would change.
  package func run(isDry: Bool) throws -> Outcome {
    let lock = try takeLock()
    defer { withExtendedLifetime(lock) {} }
    let loaded = files.load()
    if loaded.hasErrors { throw DeclaredFiles.Refusal(diagnostics: loaded.diagnostics.filter { $0.severity == .error }) }
    guard var file = try declaringFile(among: loaded.files) else { return try changeGateway(isDry: isDry) }
    try FileTrial(folder).refuseSecond()
    let old = file.text
    try file.apply(edit)
    if file.text == old { return Outcome(effect: DeclaredFiles.Effect(parts: [], connected: nil), path: file.path) }
    let effect = try files.effect(of: files.load(replacing: file.path, with: Array(file.text.utf8)))
    let target = try target(for: file.path)
    let isInPlace = access(target, F_OK) == 0
    if isDry { return Outcome(effect: effect, path: target) }
    var status = stat()
    guard stat(file.path, &status) == 0 else { throw SystemError.last("read \(file.path)") }
    try Folder.make(Folder.parent(of: target), mode: 0o755)
    try TextFile.replace(target, with: Array(file.text.utf8), mode: UInt32(status.st_mode) & 0o644)
    do {
      // The running gateway may have been faster, and then nothing is left to change.
      _ = try files.apply(files.load())
      return Outcome(effect: effect, path: target)
    } catch {
      // The gateway would refuse the file from now on.
      if isInPlace {
        try TextFile.replace(target, with: Array(old.utf8), mode: UInt32(status.st_mode) & 0o644)
      } else {
        try TextFile.remove(target)
      }
      throw error
    }
  }

  /// Keeps other commands from changing the files meanwhile; `nil`: the gateway is not there yet.
  private func takeLock() throws -> FileDescriptor? {
    guard access(folder.path, F_OK) == 0 else { return nil }
    if let lock = try FileTrial(folder).lock(patience: .seconds(10)) { return lock }
    throw GatewayError("another command changes the files of this gateway", help: "try it again")
  }

  /// The file that declares what the setting belongs to; of several, the one that has most of its keys, and the last of these.
  private func declaringFile(among paths: [String]) throws -> EditedFile? {
    let keys = edit.path.keys
    let least = keys[0] == "settings" ? keys.count > 1 && keys[1] == "everybody" ? 2 : 3 : 1
    var best: (file: EditedFile, depth: Int)?
    for path in paths {
      let file = EditedFile(path: path, text: String(decoding: try TextFile.read(path), as: UTF8.self))
      let depth = file.depth(of: edit.path)
      if depth >= least || depth == keys.count, depth >= best?.depth ?? 1 { best = (file, depth) }
    }
    return best?.file
  }

  /// A file of a distribution stays as it is: one of its name in the gateway's own folder replaces it.
  private func target(for path: String) throws -> String {
    let target = files.layers.contains(path) ? path : "\(try files.destination())/\(path.split(separator: "/").last ?? "")"
    // A link stays one: the file that it leads to is changed.
    guard let real = realpath(target, nil) else { return target }
    defer { free(real) }
    if let path = String(validatingCString: real) { return path }
    throw GatewayError("\(target) leads to a name that is no UTF-8", help: "change the file there with an editor")
  }

  /// The rows that the change needs, and those of everybody whom it can concern.
  private var excerpt: GatewayCore.Excerpt {
    let keys = edit.path.keys
    guard keys.count > 2, keys[0] == "settings" else { return .everything }
    let user = keys[1] == "users" ? GatewayName(keys[2]) : keys[1] == "devices" ? DevicePath(keys[2])?.user : nil
    return user.map { .users([$0]) } ?? .everything
  }

  /// Settings of this gateway alone can be changed while the store's server is away.
  private func changeGateway(isDry: Bool) throws -> Outcome {
    guard try folder.hasStoreFile || folder.storeServer() != nil else { throw GatewayError.notInitialised }
    try folder.refuseOtherStore()
    let isOfStore = ["gateway", "pools", "settings"].contains(edit.path.keys[0])
    let store = isOfStore ? try folder.store() : try? folder.store()
    guard let key = try folder.privateKey()?.publicKey else { throw GatewayError.notInitialised }
    var present = GatewayFile()
    if let store {
      let all = Declaration(of: try store.load(excerpt))
      guard all.site != nil else { throw GatewayError.notInitialised }
      (present.declaration.site, present.declaration.pools, present.declaration.settings) = (all.site, all.pools, all.settings)
    }
    present.host = try HostSettings(of: folder)
    let change = try UndeclaredChange(edit, of: present)
    let host = HostChange(change.file.host, in: folder)
    try host.check { text, help, _ in GatewayError(text, help: help) }
    let requests = { (work: inout Administration) throws(GatewayError) -> DeclaredFiles.Effect in
      do throws(DeclarationFault) {
        if let refusal = change.refusal(in: work.directory) { throw DeclarationFault(place: nil, error: refusal) }
        try Convergence.set(change.file.declaration, clearing: change.cleared, publicKey: key, in: &work)
        if let fault = change.file.host.fault(in: work.directory) { throw fault }
      } catch { throw error.error }
      return DeclaredFiles.Effect(work, folder)
    }
    let (actor, now) = (Actor.current, Timestamp.now.wholeSecond)
    let effect =
      try isDry
      ? store?.tryOut(as: actor, at: now, reading: excerpt, requests) : store?.change(as: actor, at: now, reading: excerpt, requests)
    let parts = try host.run(as: actor, store, isDry: isDry)
    if change.forgetsLogins, !isDry { try LoginKeyFile(folder).forget() }
    if !isDry { folder.announceChange() }
    let all = effect ?? DeclaredFiles.Effect(parts: [], connected: nil)
    return Outcome(effect: all.adding(parts), path: nil, isRecorded: store != nil)
  }
}

extension UndeclaredChange {
  /// The refusal of what a file declares after all: one that the running gateway has not taken yet.
  fileprivate func refusal(in directory: Directory) -> GatewayError? {
    host.lazy.compactMap { directory.marks.refusal(of: $0, at: directory.site?.id) }.first
  }

  private var host: [DeclaredSubject] { file.host.subjects.keys.sorted { $0.name < $1.name } }
}
