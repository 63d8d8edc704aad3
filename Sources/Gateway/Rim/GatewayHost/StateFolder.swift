internal import CSodium
package import GatewayCore
package import GatewayLogin
internal import GatewaySource
package import GatewayStore
internal import Glibc
package import KernelModel
package import KeyMemory
package import LinuxIO
internal import LoginProtocol
package import NetworkTypes

/// The gateway's files: `gateway.db` or `store`, `private.key`, `login.pem`, those of `SettingFile`, `changed`, `followed`, `served`,
/// `firewall`, `lock`, `counts`, while files are on trial `trial`, and with a store on a server `replica.db`, `gateway-id`, `take-over`.
/// Root alone has access.
package struct StateFolder: Hashable, Sendable {
  package let path: String

  package init(_ path: String) { self.path = path }

  /// The usual place.
  package static let standard = StateFolder("/var/lib/roamward-gateway")

  /// Makes the folder with access for its owner alone.
  package func make() throws(SystemError) { try Folder.make(path, mode: 0o700) }

  /// Whether this user may look into it, or there is none yet. What is in it would else be taken for missing.
  package var mayRead: Bool { access(path, R_OK | X_OK) == 0 || errno != EACCES }

  package var storePath: String { "\(path)/gateway.db" }
  package var serverPath: String { "\(path)/store" }

  /// The server that has the store, as libpq's connection string says; `nil`: the store is the file `gateway.db`.
  package func storeServer() throws(SystemError) -> String? {
    guard access(serverPath, F_OK) == 0 else { return nil }
    let line = try TextFile.read(serverPath, limit: 4096).prefix { $0 != UInt8(ascii: "\n") }
    return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
  }

  /// Opens the store; with `creating`, makes it.
  package func store(creating: Bool = false) throws -> GatewayStore { try openStore(creating: creating).store }

  /// Opens the store; `server` is the way to it where it is no file.
  /// `waiting`: a server may be away.
  func openStore(creating: Bool = false, waiting: Bool = false) throws -> (store: GatewayStore, server: StoreProcess?) {
    let move = StoreMove(self)
    // While its server is away, nothing shows whether a move was committed.
    if move.isUnfinished { do { try move.settle() } catch { guard waiting else { throw error } } }
    return try presentStore(creating: creating, waiting: waiting)
  }

  /// The same without a look at a move that was interrupted.
  func presentStore(creating: Bool, waiting: Bool) throws -> (store: GatewayStore, server: StoreProcess?) {
    guard let target = try storeServer() else {
      return (try GatewayStore(try SQLiteEngine(storePath, creating: creating), creating: creating, viewpoint: viewpoint), nil)
    }
    let server = StoreProcess(target)
    return (try GatewayStore(server, creating: creating, waiting: waiting, viewpoint: viewpoint), server)
  }

  /// Which gateway of the store this one is.
  package var viewpoint: WireGuardKey? { ((try? privateKey()) ?? nil)?.publicKey }

  /// Records that a gateway has read the store now: when it cannot any more, `status` says for how long.
  func recordReading() {
    // The time of a file that exists costs no write to the disk now.
    if utimensat(AT_FDCWD, followedPath, nil, 0) != 0 { try? TextFile.replace(followedPath, with: [], mode: 0o600) }
  }

  private var followedPath: String { "\(path)/followed" }

  /// When a gateway read the store; `nil`: that was never noted.
  package var lastReading: Timestamp? { time(of: followedPath) }

  private var countsPath: String { "\(path)/counts" }

  /// Replaces what a gateway has counted since its start.
  func keep(_ counts: GatewayCounts) throws(SystemError) { try TextFile.replace(countsPath, with: Array(counts.text.utf8), mode: 0o600) }

  /// Records that a gateway has compared the machine with the store now. The time of a file costs no write to the disk now.
  func recordLook() { _ = utimensat(AT_FDCWD, countsPath, nil, 0) }

  /// When the running gateway last compared the machine with the store; `nil`: that was never noted.
  package var lastLook: Timestamp? { time(of: countsPath) }

  private func time(of path: String) -> Timestamp? {
    var information = stat()
    return stat(path, &information) == 0 ? Timestamp(seconds: Int64(information.st_mtim.tv_sec)) : nil
  }

  /// `nil`: there are no counts, or none that this version can read.
  package var counts: GatewayCounts? {
    (try? TextFile.read(countsPath, limit: 65_536)).flatMap { GatewayCounts(String(decoding: $0, as: UTF8.self)) }
  }

  package var keyPath: String { "\(path)/private.key" }

  /// The gateway's private key: of the systemd credential `gateway.key`, else of the file that `init` made; `nil` if there is none.
  package func privateKey() throws(SystemError) -> SecretKey? {
    let credential = getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) + "/gateway.key" }
    for path in [credential, keyPath].compactMap({ $0 }) where access(path, F_OK) == 0 {
      var text = try TextFile.read(path, limit: 1024)
      defer { sodium_memzero(&text, text.count) }
      let line = text.prefix { $0 != UInt8(ascii: "\n") }
      guard let key = SecretKey(base64: String(decoding: line, as: UTF8.self)) else {
        throw SystemError(code: EINVAL, operation: "read a private key of WireGuard (`wg genkey`) from \(path)")
      }
      return key
    }
    return nil
  }

  /// Makes a private key, and writes it into a file that must not exist yet.
  package func makePrivateKey() throws(SystemError) -> SecretKey {
    let key = SecretKey.random()
    var text = Array((key.base64 + "\n").utf8)
    defer { sodium_memzero(&text, text.count) }
    try TextFile.create(keyPath, with: text, mode: 0o600)
    return key
  }

  package var loginPath: String { "\(path)/login.pem" }

  /// The identity of logins (PEM): of the systemd credential `gateway.login`, else of the file; `nil`: there are no logins.
  package func loginIdentity() throws(SystemError) -> String? {
    let credential = getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) + "/gateway.login" }
    for path in [credential, loginPath].compactMap({ $0 }) where access(path, F_OK) == 0 {
      return String(decoding: try TextFile.read(path, limit: 16_384), as: UTF8.self)
    }
    return nil
  }

  /// The settings of sign-ins at an OpenID provider; `nil`: there are no such sign-ins. Throws `GatewayError` for invalid settings.
  package func openIDSettings() throws -> OpenIDSettings? {
    let path = path(of: .openID)
    guard access(path, F_OK) == 0 else { return nil }
    return try OpenIDSettings(parsing: String(decoding: try TextFile.read(path, limit: 65_536), as: UTF8.self))
  }

  /// The PAM service that checks passwords; `nil`: none. Throws `GatewayError` for settings that are none.
  package func pamSettings() throws -> PAMSettings? {
    let path = path(of: .pam)
    guard access(path, F_OK) == 0 else { return nil }
    return try PAMSettings(parsing: String(decoding: try TextFile.read(path, limit: 4096), as: UTF8.self))
  }

  /// The text that everybody accepts at a login; `nil`: there is none.
  package func loginBanner() -> String? {
    guard let bytes = try? TextFile.read(path(of: .banner), limit: 1024), !bytes.isEmpty else { return nil }
    // The client shows it: lines and tabs are all that it needs of control characters.
    let shown = String(decoding: bytes, as: UTF8.self).unicodeScalars.filter { scalar in
      scalar.properties.generalCategory != .control || scalar == "\n" || scalar == "\t"
    }
    return shown.isEmpty ? nil : String(String.UnicodeScalarView(shown))
  }

  /// The TCP port at which datagrams are relayed; `nil`: they are not.
  package func relayPort() -> UInt16? {
    guard let bytes = try? TextFile.read(path(of: .relay), limit: 16) else { return nil }
    return UInt16(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)).flatMap { $0 > 0 ? $0 : nil }
  }

  /// A service that a running gateway may be unable to offer.
  package enum Offer: String, Sendable { case logins, relay, page, files }

  /// Records for the doctor why a running gateway does not offer it; `nil`: it does, or need not.
  func record(trouble: String?, of offer: Offer) {
    let path = "\(path)/\(offer.rawValue).trouble"
    guard let trouble else {
      // Each change of the store comes here: without a note, nothing waits for the disk.
      if access(path, F_OK) == 0 { try? TextFile.remove(path) }
      return
    }
    try? TextFile.replace(path, with: Array(trouble.utf8), mode: 0o600)
  }

  package func trouble(of offer: Offer) -> String? {
    (try? TextFile.read("\(path)/\(offer.rawValue).trouble", limit: 1024)).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The ports that a gateway here has: of its link, of logins, relays and the page, and of settings inside the tunnel.
  func ownPorts(_ site: Site) -> OwnPorts {
    let page: UInt16?
    do throws(GatewayError) { page = try pageSettings()?.port } catch { page = nil }
    return OwnPorts([site.endpoint.port, relayPort(), page, SettingsPush.port].compactMap { $0 })
  }

  /// Whether the page is enabled, also with damaged settings.
  var hasPage: Bool { access(path(of: .page), F_OK) == 0 }

  /// The settings of the page; `nil`: there is none. Throws for settings that are none.
  package func pageSettings() throws(GatewayError) -> PageSettings? {
    let path = path(of: .page)
    guard access(path, F_OK) == 0 else { return nil }
    guard let text = try? TextFile.read(path, limit: 16_384), let settings = PageSettings(String(decoding: text, as: UTF8.self)) else {
      throw GatewayError(
        "the settings of the page in \(path) are damaged", help: "roamward-gateway set page off, then set page with its options")
    }
    return settings
  }

  /// Wakes a running gateway: the store has changed. A wake that is lost costs 15 seconds, so none waits for the disk. Of two commands at
  /// once, one may move what both have made: their changes were in the store before.
  package func announceChange() {
    let new = "\(path)/changed.new"
    close(open(new, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600))
    rename(new, "\(path)/changed")
  }

  /// Takes the lock of a running gateway; `nil` if another one has it. A command that asks whether one runs has it for a moment:
  /// `patience` outlasts that.
  package func lock(patience: Duration = .zero) throws(SystemError) -> FileDescriptor? {
    try LockFile("\(path)/lock").take(patience: patience)
  }
}

extension SecretKey {
  /// A new private key, from the kernel's random numbers (getrandom(2)).
  package static func random() -> SecretKey {
    let bytes = SecretBytes()
    randombytes_buf(bytes.pointer, 32)
    return SecretKey(bytes)
  }

  /// The key as wg(8) writes it: to be shown once, to the person that it belongs to.
  package var base64: String {
    withUnsafeBytes { bytes in
      String(unsafeUninitializedCapacity: 45) { text in
        text.withMemoryRebound(to: CChar.self) { text in
          guard let start = text.baseAddress else { return }
          sodium_bin2base64(
            start, 45, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), 32, sodium_base64_VARIANT_ORIGINAL)
        }
        return 44
      }
    }
  }
}
