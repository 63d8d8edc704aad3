package import GatewayCore
internal import GatewaySource
internal import GatewayStore
internal import Glibc
package import LinuxIO
internal import NetworkTypes

// Which store and settings a running gateway uses. It notes them, and commands compare them with what they mean.
extension StateFolder {
  private var servedPath: String { "\(path)/served" }
  /// The files of settings that a gateway takes while it runs, with their names in messages.
  private static let settings = SettingFile.allCases.reduce(into: ["login.pem": "logins"]) { $0[$1.rawValue] = $1.nameOfTaken }
  /// A gateway takes settings within this time, in seconds, also if it was not woken.
  private static let patience: Int64 = 20

  /// A store or settings at one moment.
  struct Served: Equatable {
    /// A digest of the server that has the store; `file`: it is a file here.
    var store: String
    /// By the name of the file: what tells it from an earlier or later one of this name.
    var settings: [String: String]

    fileprivate var text: String {
      ((["store": store].merging(settings) { $1 }).sorted { $0.key < $1.key }.map { "\($0) \($1)\n" }).joined()
    }

    fileprivate init?(_ text: String) {
      let words = text.split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
      guard words.allSatisfy({ $0.count == 2 }) else { return nil }
      settings = Dictionary(words.map { ($0[0], $0[1]) }) { $1 }
      guard let store = settings.removeValue(forKey: "store") else { return nil }
      self.store = store
    }

    init(store: String, settings: [String: String]) {
      self.store = store
      self.settings = settings
    }
  }

  /// The folder's present settings. `store`: of a gateway, what it was started with.
  func present(store: String? = nil) -> Served {
    Served(store: store ?? storeDigest, settings: Self.settings.mapValues { _ in "" }.reduce(into: [:]) { $0[$1.key] = sign(of: $1.key) })
  }

  /// Of the store that commands use. The connection string has a password.
  var storeDigest: String {
    guard let server = (try? storeServer()) ?? nil else { return "file" }
    return GatewayStore.digest(Array(server.utf8)).map(hexadecimal).joined()
  }

  /// Files are replaced as a whole, so a new one has another number, or another time.
  private func sign(of name: String) -> String {
    var information = stat()
    guard stat("\(path)/\(name)", &information) == 0 else { return "-" }
    return "\(information.st_ino):\(information.st_size):\(information.st_mtim.tv_sec).\(information.st_mtim.tv_nsec)"
  }

  private func age(of name: String) -> Int64 {
    var information = stat()
    // Of a file that is gone, the folder has the time.
    guard stat("\(path)/\(name)", &information) == 0 || stat(path, &information) == 0 else { return .max }
    return Timestamp.now.seconds - Int64(information.st_mtim.tv_sec)
  }

  /// Records what a gateway uses. A lost note costs a warning.
  func record(_ served: Served) { try? TextFile.replace(servedPath, with: Array(served.text.utf8), mode: 0o600) }

  private var served: Served? {
    (try? TextFile.read(servedPath, limit: 4096)).flatMap { Served(String(decoding: $0, as: UTF8.self)) }
  }

  /// The differences between a running gateway and what commands mean; `nil`: there are none, or none runs.
  package var unserved: UnservedSettings? {
    guard isServed, let served else { return nil }
    let others = present().settings.filter { name, sign in
      served.settings[name].map { $0 != sign } ?? false && age(of: name) > Self.patience
    }
    let found = UnservedSettings(
      hasOtherStore: served.store != storeDigest, settings: others.keys.compactMap { Self.settings[$0] }.sorted())
    return found.isNone ? nil : found
  }

  /// Whether a gateway runs.
  package var isServed: Bool {
    do throws(SystemError) { return try lock() == nil } catch { return false }
  }

  /// A change of a store that the running gateway does not use would have no effect, and look as if it had one.
  package func refuseOtherStore() throws(GatewayError) {
    // A gateway that begins has the note of the one before for a moment.
    let end = Moment.now + .seconds(1)
    while let unserved, unserved.hasOtherStore {
      guard Moment.now < end else { throw GatewayError("nothing is changed: \(unserved.text)", help: UnservedSettings.help) }
      usleep(50_000)
    }
  }

  /// Takes the lock of a gateway for a change of the store's place; throws if one runs.
  package func lockForNewStore() throws -> FileDescriptor {
    guard let lock = try lock(patience: .milliseconds(200)) else {
      throw GatewayError(
        "a gateway runs with \(path), and would go on with the present store",
        help: "`systemctl stop roamward-gateway`, then again, then `systemctl start roamward-gateway`; everybody stays connected")
    }
    return lock
  }

  /// Waits until the running gateway has taken a file of settings, `nil` if none runs; then what keeps it from offering that.
  package func outcome(of name: String, _ offer: Offer) -> String? {
    let end = Moment.now + .seconds(5)
    while isServed, Moment.now < end {
      if let served, served.settings[name] == sign(of: name) { return trouble(of: offer) }
      usleep(20_000)
    }
    return nil
  }
}

/// The note of a running gateway: the store that it was started with, and the settings that it has taken.
struct ServedNote {
  private let folder: StateFolder
  /// Of the store that it was started with.
  private let store: String
  private var last: StateFolder.Served?

  /// Records the store. Of settings, none is taken yet.
  init(_ folder: StateFolder) {
    self.folder = folder
    store = folder.storeDigest
    folder.record(StateFolder.Served(store: store, settings: [:]))
  }

  /// The settings as they are, before anything of them is read: what comes later is another note.
  var present: StateFolder.Served { folder.present(store: store) }

  /// These settings have been taken.
  mutating func record(_ served: StateFolder.Served) {
    guard served != last else { return }
    folder.record(served)
    last = served
  }
}
