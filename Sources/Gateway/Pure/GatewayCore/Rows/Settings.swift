package import NetworkTypes

/// Settings for the clients of everybody, of a group, of a user or of a device. A missing one is taken from the next wider scope.
package struct Settings: Row {
  package var id: Int64
  package var scope: Scope
  package var pushed: PushedSettings
  /// The most devices that a user has before the user can add no other one; `nil`: not set here. No client gets it.
  package var deviceLimit: Int64?

  package init(id: Int64, scope: Scope, pushed: PushedSettings, deviceLimit: Int64? = nil) {
    self.id = id
    self.scope = scope
    self.pushed = pushed
    self.deviceLimit = deviceLimit
  }

  /// The limit of devices where none is set.
  package static let usualDeviceLimit: Int64 = 10
  package static let deviceLimits: ClosedRange<Int64> = 0...10_000

  /// The settings that are given, with their values as they are written.
  var entries: [(name: String, values: [String])] { pushed.entries + (deviceLimit.map { [("devices", ["\($0)"])] } ?? []) }

  /// One line for each setting.
  var text: String { Self.text(of: entries) }

  fileprivate static func text(of entries: [(name: String, values: [String])]) -> String {
    entries.map { "\($0.name) \($0.values.isEmpty ? "none" : $0.values.joined(separator: ", "))\n" }.joined()
  }

  package enum Scope: Hashable, Sendable {
    case everybody
    case group(Int64)
    case user(Int64)
    case device(Int64)

    var words: (kind: String, id: Int64) {
      switch self {
      case .everybody: ("all", 0)
      case .group(let id): ("group", id)
      case .user(let id): ("user", id)
      case .device(let id): ("device", id)
      }
    }

    init?(kind: String, id: Int64) {
      switch kind {
      case "all": self = .everybody
      case "group": self = .group(id)
      case "user": self = .user(id)
      case "device": self = .device(id)
      default: return nil
      }
    }
  }

  package static let table = TableDeclaration(
    name: "settings", columns: ["scope", "scope_id", "routes", "dns", "search", "mtu", "keepalive", "devices"])
  package var values: [SQLValue] {
    func list(_ values: [some CustomStringConvertible]?) -> SQLValue { values.map { SQLValue(list: $0) } ?? .text("-") }
    return [
      .text(scope.words.kind), .integer(scope.words.id), list(pushed.routes), list(pushed.dns), list(pushed.search),
      SQLValue(pushed.mtu.map(Int64.init)), SQLValue(pushed.keepalive.map(Int64.init)), SQLValue(deviceLimit),
    ]
  }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let scope = Scope(kind: row.text(), id: row.integer())
    func list<T: LosslessStringConvertible>(_: T.Type) -> [T]?? {
      let text = row.text()
      if text == "-" { return .some(nil) }
      let values = text.split(separator: ",").map { T(String($0)) }
      return values.contains { $0 == nil } ? nil : .some(values.compactMap { $0 })
    }
    let (routes, dns, search) = (list(IPPrefix.self), list(IPAddress.self), list(DomainName.self))
    let (mtu, keepalive, limit) = (row.optionalInteger(), row.optionalInteger(), row.optionalInteger())
    guard row.isValid, let scope, let routes, let dns, let search, mtu.map({ UInt32(exactly: $0) != nil }) ?? true,
      keepalive.map({ UInt16(exactly: $0) != nil }) ?? true, limit.map(Self.deviceLimits.contains) ?? true
    else { throw RowError(table: Self.table.name, id: id) }
    self.init(
      id: id, scope: scope,
      pushed: PushedSettings(
        routes: routes, dns: dns, search: search, mtu: mtu.map { UInt32($0) }, keepalive: keepalive.map { UInt16($0) }),
      deviceLimit: limit)
  }
}

/// The settings that a client gets. `nil`: not set here; an empty list: set to nothing.
package struct PushedSettings: Hashable, Sendable {
  /// The prefixes that the client sends into the tunnel.
  package var routes: [IPPrefix]?
  package var dns: [IPAddress]?
  /// Search domains, which systemd-resolved also takes for split DNS.
  package var search: [DomainName]?
  /// In bytes.
  package var mtu: UInt32?
  /// Seconds between keepalives; 0 is off.
  package var keepalive: UInt16?

  package init(
    routes: [IPPrefix]? = nil, dns: [IPAddress]? = nil, search: [DomainName]? = nil, mtu: UInt32? = nil, keepalive: UInt16? = nil
  ) {
    self.routes = routes
    self.dns = dns
    self.search = search
    self.mtu = mtu
    self.keepalive = keepalive
  }

  /// These settings, and those of a wider scope for what they do not say.
  package func completed(by wider: PushedSettings) -> PushedSettings {
    PushedSettings(
      routes: routes ?? wider.routes, dns: dns ?? wider.dns, search: search ?? wider.search, mtu: mtu ?? wider.mtu,
      keepalive: keepalive ?? wider.keepalive)
  }

  /// The settings that are given, with their values as they are written.
  package var entries: [(name: String, values: [String])] {
    func texts(_ values: [some CustomStringConvertible]?) -> [String]? { values.map { $0.map(\.description) } }
    return [
      ("routes", texts(routes)), ("dns", texts(dns)), ("search", texts(search)), ("mtu", texts(mtu.map { [$0] })),
      ("keepalive", texts(keepalive.map { [$0] })),
    ].compactMap { name, values in values.map { (name, $0) } }
  }

  /// One line for each setting. Its digest is the hash by which a client and a gateway compare their settings.
  package var text: String { Settings.text(of: entries) }
}
