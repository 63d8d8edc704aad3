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
  private let folder: StateFolder
  /// Folders and files, later ones before earlier ones.
  package let layers: [String]

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

  /// The folders in which the files are: a single file is replaced in its folder.
  var folders: Set<String> {
    Set(
      layers.map { path in
        var information = stat()
        guard stat(path, &information) == 0, information.st_mode & S_IFMT != S_IFDIR else { return path }
        return path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? path
      })
  }

  /// The names, places and times of the present files: those of another moment have others.
  var signature: [String] {
    layers.flatMap { layer in
      let names = Folder.names(in: layer).sorted().map { "\(layer)/\($0)" }
      return (names.isEmpty ? [layer] : names).map { path in
        var information = stat()
        guard stat(path, &information) == 0 else { return path }
        return "\(path) \(information.st_ino) \(information.st_size) \(information.st_ctim.tv_sec).\(information.st_ctim.tv_nsec)"
      }
    }
  }

  /// Whether this user may look at the store, or there is none yet. What is in it would else be taken for missing.
  package var mayReadStore: Bool { access(folder.path, R_OK | X_OK) == 0 || errno != EACCES }

  /// Reads the files. As root, those that others could have written are refused.
  package func load() -> LoadedGatewayFiles { loadGatewayFiles(layers: layers, requireRootOwnership: geteuid() == 0) }

  /// The changes that the files make.
  package struct Effect: Sendable {
    /// The store, and then each setting of this gateway alone.
    package let parts: [ChangeSummary]
    /// The number of concerned devices that are connected, just before; `nil`: not known.
    package let connected: Int?

    package var isEmpty: Bool { parts.allSatisfy(\.isEmpty) }
  }

  /// The reason why files are not carried out: everything stays as it was.
  package struct Refusal: Error, Sendable, CustomStringConvertible {
    package let diagnostics: [Diagnostic]

    package var description: String { diagnostics.map { $0.rendered() }.joined(separator: "\n") }
  }

  /// Computes what carrying out would change, and changes nothing. A gateway that is not there yet is computed as a new one.
  package func effect(of loaded: LoadedGatewayFiles) throws -> Effect { try carryOut(loaded, isTrial: true) }

  /// Makes the gateway what its files say; one that is not there yet begins with them. `store`: its store where it is open; `nil`: it is
  /// opened for this alone.
  package func apply(_ loaded: LoadedGatewayFiles, in store: GatewayStore? = nil) throws -> Effect {
    try carryOut(loaded, isTrial: false, in: store)
  }

  private func carryOut(_ loaded: LoadedGatewayFiles, isTrial: Bool, in open: GatewayStore? = nil) throws -> Effect {
    if loaded.hasErrors { throw Refusal(diagnostics: loaded.diagnostics.filter { $0.severity == .error }) }
    guard mayReadStore else {
      throw GatewayError("root alone may read the store in \(folder.path)", help: "run the command as root")
    }
    if loaded.files.isEmpty {
      if !isTrial { try forget(in: open) }
      return Effect(parts: [], connected: nil)
    }
    try checkHost(loaded)
    let isNew = try !folder.hasStoreFile && folder.storeServer() == nil
    let key: SecretKey
    if isTrial {
      key = try folder.privateKey() ?? SecretKey.random()
    } else {
      try folder.make()
      key = try folder.privateKey() ?? folder.makePrivateKey()
    }
    guard let publicKey = key.publicKey else { throw GatewayError("the private key has no public key") }
    let requests = { (work: inout Administration) throws(GatewayError) -> Effect in
      let fault = loaded.file.carryOut(in: &work, publicKey)
      if let fault { throw GatewayError(loaded.diagnostic(fault.error.text, help: fault.error.help, at: fault.place).rendered()) }
      let summary = ChangeSummary(work)
      let connected = summary.devices.isEmpty ? nil : HostExamination.countConnected(summary.devices, of: work.directory, folder)
      return Effect(parts: [summary], connected: connected)
    }
    let store = isTrial && isNew ? nil : try open ?? folder.store(creating: !isTrial)
    let effect: Effect
    if let store, !isTrial {
      effect = try store.change(as: Self.actor, at: Timestamp.now.wholeSecond, requests)
    } else if let store {
      effect = try store.tryOut(as: Self.actor, at: Timestamp.now.wholeSecond, requests)
    } else {
      var work = Administration(Directory(viewpoint: publicKey), lastID: 0, actor: Self.actor, now: Timestamp.now.wholeSecond)
      effect = try requests(&work)
    }
    let host = try setHost(loaded.file.host, store, isTrial: isTrial)
    if !isTrial { folder.announceChange() }
    return Effect(parts: effect.parts + host, connected: effect.connected)
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
    for test in expectations {
      if let error = test.value.fault(in: work.directory) { return DeclarationFault(place: test.place, error: error) }
    }
    return nil
  }
}

// Settings of this gateway alone.
extension DeclaredFiles {
  private func checkHost(_ loaded: LoadedGatewayFiles) throws {
    let host = loaded.file.host
    func check(_ place: DeclaredPlace?, _ body: () throws(GatewayError) -> Void) throws {
      do throws(GatewayError) { try body() } catch {
        throw Refusal(diagnostics: [loaded.diagnostic(error.text, help: error.help, at: place)])
      }
    }
    if let openID = host.openID, let settings = openID.value {
      try check(openID.place) { () throws(GatewayError) in try OpenIDFiles.check(settings) }
    }
    if let pam = host.pam, let settings = pam.value {
      try check(pam.place) { () throws(GatewayError) in try PAMFiles.check(settings) }
    }
    if let logins = host.logins, !logins.value, try folder.loginIdentity() != nil, access(folder.loginPath, F_OK) != 0 {
      throw Refusal(
        diagnostics: [
          loaded.diagnostic(
            "the key of logins is the systemd credential `gateway.login`, which no file turns off", help: "remove it from the unit",
            at: logins.place)
        ])
    }
    if let relay = host.relayPort, relay.value > 0, host.logins?.value == false {
      throw Refusal(
        diagnostics: [
          loaded.diagnostic(
            "there are no logins, by which clients learn of the relay", help: "declare `logins`, or `relay: off`", at: relay.place)
        ])
    }
  }

  private func setHost(_ host: HostSettings, _ store: GatewayStore?, isTrial: Bool) throws -> [ChangeSummary] {
    var parts: [ChangeSummary] = []
    for (setting, text) in host.texts {
      let summary = try setting.change(in: folder, to: text)
      guard !summary.isEmpty else { continue }
      parts.append(summary)
      if isTrial { continue }
      try folder.set(setting, to: text)
      try record(summary, setting.verb(isSet: text != nil), setting.rawValue, store)
    }
    guard let wanted = host.logins?.value, try (folder.loginIdentity() != nil) != wanted else { return parts }
    let summary = ChangeSummary(setting: "logins", from: wanted ? nil : "accepted\n", to: wanted ? "accepted\n" : nil)
    if !isTrial {
      try LoginKeyFile(folder).set(wanted)
      try record(summary, wanted ? "logins on" : "logins off", "logins", store)
    }
    return parts + [summary]
  }

  private func record(_ summary: ChangeSummary, _ verb: String, _ object: String, _ store: GatewayStore?) throws {
    let detail = summary.lines.map(\.text).joined(separator: "; ")
    try store?.record(
      [AuditEntry.Record(actor: Self.actor, verb: verb, object: object, detail: detail)], at: Timestamp.now.wholeSecond)
  }
}

extension HostSettings {
  /// The texts of the files that are declared; `nil`: no file.
  fileprivate var texts: [(SettingFile, String?)] {
    var found: [(SettingFile, String?)] = []
    if let openID { found.append((.openID, openID.value?.text)) }
    if let pam { found.append((.pam, pam.value?.text)) }
    if let banner { found.append((.banner, banner.value.isEmpty ? nil : banner.value)) }
    if let page { found.append((.page, page.value?.description)) }
    if let staleAfter { found.append((.staleAfter, staleAfter.value == 0 ? nil : "\(staleAfter.value)\n")) }
    if let relayPort { found.append((.relay, relayPort.value == 0 ? nil : "\(relayPort.value)\n")) }
    return found
  }

  /// The marks of what is declared here.
  fileprivate var subjects: [DeclaredSubject: DeclaredPlace] {
    var found: [DeclaredSubject: DeclaredPlace] = [:]
    func add(_ name: String, _ place: DeclaredPlace?) { if let place { found[DeclaredSubject(.host, name)] = place } }
    add(SettingFile.openID.rawValue, openID?.place)
    add(SettingFile.pam.rawValue, pam?.place)
    add(SettingFile.banner.rawValue, banner?.place)
    add(SettingFile.page.rawValue, page?.place)
    add(SettingFile.staleAfter.rawValue, staleAfter?.place)
    add(SettingFile.relay.rawValue, relayPort?.place)
    add("logins", logins?.place)
    return found
  }
}

/// The key of logins, which is put aside while a file declares that there are none.
struct LoginKeyFile {
  private let path: String

  init(_ folder: StateFolder) { path = folder.loginPath }

  /// Accepts logins, or refuses them. The key stays, so that clients know the gateway when they are accepted again.
  func set(_ isOn: Bool) throws {
    let resting = "\(path).off"
    if !isOn {
      guard rename(path, resting) == 0 || errno == ENOENT else { throw SystemError.last("rename \(path)") }
    } else if rename(resting, path) != 0 {
      guard let identity = LoginIdentity.make() else { throw GatewayError("no key can be made for logins") }
      try TextFile.create(path, with: Array(identity.utf8), mode: 0o600)
    }
  }
}

extension HostSettings {
  /// The settings of a gateway beside its store, as files would declare them.
  package init(of folder: StateFolder) throws {
    self.init()
    let nowhere = DeclaredPlace(file: "", line: 0, column: 0)
    func placed<Value>(_ value: Value) -> Declaration.Placed<Value> { Declaration.Placed(value, at: nowhere) }
    logins = placed(try folder.loginIdentity() != nil)
    openID = placed(try folder.openIDSettings())
    pam = placed(try folder.pamSettings())
    banner = placed(folder.loginBanner() ?? "")
    relayPort = placed(folder.relayPort() ?? 0)
    page = placed(try folder.pageSettings())
    staleAfter = folder.staleAfter.map { placed($0) }
  }
}
