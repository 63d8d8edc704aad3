internal import GatewayCore
internal import GatewayCredentials
internal import GatewayLogin
package import GatewaySource
internal import GatewayStore
internal import Glibc
internal import LinuxIO
internal import NetworkTypes

/// A change of a gateway's settings beside its store.
struct HostChange {
  private let host: HostSettings
  private let folder: StateFolder

  init(_ host: HostSettings, in folder: StateFolder) { (self.host, self.folder) = (host, folder) }

  /// Throws what `fault` makes of the first setting that is not possible on this machine.
  func check(_ fault: (_ text: String, _ help: String?, DeclaredPlace?) -> any Error) throws {
    func check(_ place: DeclaredPlace?, _ body: () throws(GatewayError) -> Void) throws {
      do throws(GatewayError) { try body() } catch { throw fault(error.text, error.help, place) }
    }
    if let settings = host.openID {
      try check(host.texts[.openID]?.place) { () throws(GatewayError) in try OpenIDFiles.check(settings) }
    }
    if let settings = host.pam {
      try check(host.texts[.pam]?.place) { () throws(GatewayError) in try PAMFiles.check(settings) }
    }
    if let logins = host.logins, !logins.value, try folder.loginIdentity() != nil, access(folder.loginPath, F_OK) != 0 {
      throw fault(
        "the key of logins is the systemd credential `gateway.login`, which no setting turns off", "remove it from the unit", logins.place)
    }
    let hasLogins = try host.logins?.value ?? (folder.loginIdentity() != nil)
    if let relay = host.texts[.relay], relay.value != nil, !hasLogins {
      throw fault("there are no logins, by which clients learn of the relay", "set `logins: on`, or `relay: off`", relay.place)
    }
  }

  /// Makes the change, and records it. Returns what differs.
  func run(as actor: String, _ store: GatewayStore?, isDry: Bool) throws -> [ChangeSummary] {
    var parts: [ChangeSummary] = []
    for (setting, placed) in host.ordered {
      let text = placed.value
      let summary = try setting.change(in: folder, to: text)
      guard !summary.isEmpty else { continue }
      parts.append(summary)
      if isDry { continue }
      try folder.set(setting, to: text)
      try record(summary, setting.verb(isSet: text != nil), setting.rawValue, store, actor)
    }
    guard let isOn = host.logins?.value, try (folder.loginIdentity() != nil) != isOn else { return parts }
    let summary = LoginKeyFile.summary(of: isOn)
    if !isDry {
      try LoginKeyFile(folder).set(isOn)
      try record(summary, isOn ? "logins on" : "logins off", "logins", store, actor)
    }
    return parts + [summary]
  }

  private func record(_ summary: ChangeSummary, _ verb: String, _ object: String, _ store: GatewayStore?, _ actor: String) throws {
    let detail = summary.lines.map(\.text).joined(separator: "; ")
    try store?.record([AuditEntry.Record(actor: actor, verb: verb, object: object, detail: detail)], at: Timestamp.now.wholeSecond)
  }
}

extension HostSettings {
  /// The first setting that names a group that is not there.
  func fault(in directory: Directory) -> DeclarationFault? {
    func fault(_ group: GatewayName, _ place: DeclaredPlace?) -> DeclarationFault? {
      if directory.group(named: group) != nil { return nil }
      return DeclarationFault(
        place: place,
        error: GatewayError("there is no group \(group)", help: "`roamward-gateway group add \(group)` adds it"))
    }
    for mapping in openID?.groups ?? [] { if let found = fault(mapping.group, texts[.openID]?.place) { return found } }
    for group in [page?.administrators, page?.operators].compactMap({ $0 }) {
      if let found = fault(group, texts[.page]?.place) { return found }
    }
    return nil
  }
}

extension HostSettings {
  /// The marks of what is declared here.
  var subjects: [DeclaredSubject: DeclaredPlace] {
    var found = Dictionary(uniqueKeysWithValues: ordered.map { (DeclaredSubject(.host, $0.setting.rawValue), $0.text.place) })
    if let logins { found[DeclaredSubject(.host, "logins")] = logins.place }
    return found
  }
}

/// The key of logins, which is put aside while there are none.
struct LoginKeyFile {
  private let path: String

  init(_ folder: StateFolder) { path = folder.loginPath }

  static func summary(of isOn: Bool) -> ChangeSummary {
    ChangeSummary(setting: "logins", from: isOn ? nil : "accepted\n", to: isOn ? "accepted\n" : nil)
  }

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

  /// Removes a key that was put aside: logins that are accepted again have another one.
  func forget() throws { try TextFile.remove("\(path).off") }
}

extension HostSettings {
  /// The settings of a gateway beside its store, as files would declare them.
  package init(of folder: StateFolder) throws {
    self.init()
    let nowhere = DeclaredPlace(file: "", line: 0, column: 0)
    func placed<Value>(_ value: Value) -> Declaration.Placed<Value> { Declaration.Placed(value, at: nowhere) }
    logins = placed(try folder.loginIdentity() != nil)
    // Damaged ones are named, and not left out.
    _ = (try folder.openIDSettings(), try folder.pamSettings(), try folder.pageSettings())
    for setting in SettingFile.allCases { texts[setting] = placed(try setting.text(in: folder)) }
  }
}
