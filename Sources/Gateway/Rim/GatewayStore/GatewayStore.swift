package import GatewayCore
package import KernelModel
package import NetworkTypes

/// The gateway's store: the followed tables, the audit log, and their versions. The same statements run on every engine.
///
/// Every transaction has a version, and stamps the rows that it changes with it. So a gateway that has seen version n reads the rows above
/// n, and the tombstones of removed ones.
package final class GatewayStore {
  private(set) var engine: any StoreEngine
  /// The view of the last change: the next one reads only what was changed since. No rows that are not committed are in it.
  private var known: View?
  /// The key of the gateway that uses the store: which one of several it is.
  package let viewpoint: WireGuardKey?
  /// Whether the tables are there, and those of this version.
  private var isPrepared = false
  private let isCreating: Bool

  /// The life of a tombstone, in seconds: 7 days. A gateway that was away longer reads everything.
  package static let tombstoneAge = Duration.seconds(7 * 86_400)

  /// Opens the store. With `creating`, makes its tables if there are none. Brings tables of an earlier version up to date. With `waiting`
  /// all that is done by the first transaction: the store may be away.
  package init(
    _ engine: any StoreEngine, creating: Bool = false, waiting: Bool = false, viewpoint: WireGuardKey? = nil
  ) throws(StoreError) {
    self.engine = engine
    self.viewpoint = viewpoint
    isCreating = creating
    if !waiting { try prepare() }
  }

  func prepare() throws(StoreError) {
    if isPrepared { return }
    let version: Int64
    do throws(StoreError) {
      version = try meta("schema") ?? 0
    } catch {
      guard isCreating else { throw error }
      version = 0
    }
    guard version <= Migrations.all.count else {
      throw StoreError("the store was made by a later version of roamward-gateway", help: "update roamward-gateway")
    }
    if version < Migrations.all.count { try migrate() }
    isPrepared = true
  }

  /// Goes on with another engine, whose store has the same rows and versions.
  package func use(_ engine: any StoreEngine) { (self.engine, isPrepared) = (engine, false) }

  private func migrate() throws(StoreError) {
    try engine.beginWriting()
    try finishing { () throws(StoreError) in
      try engine.run("CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value BIGINT NOT NULL)", [])
      let version = try meta("schema") ?? 0
      for statement in Migrations.all.dropFirst(Int(version)).joined() { try engine.run(statement, []) }
      try setMeta("schema", Int64(Migrations.all.count))
    }
  }

  func meta(_ name: String) throws(StoreError) -> Int64? {
    if case .integer(let value) = try engine.run("SELECT value FROM meta WHERE name = $1", [.text(name)]).first?.first {
      value
    } else {
      nil
    }
  }

  func setMeta(_ name: String, _ value: Int64) throws(StoreError) {
    try engine.run(
      "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      [.text(name), .integer(value)])
  }

  func writing<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    try prepare()
    try beginWriting()
    return try finishing(body)
  }

  /// Begins a transaction of the store that is in use: what another program writes into one that was moved would be lost.
  private func beginWriting() throws(StoreError) {
    try engine.beginWriting()
    do throws(StoreError) {
      guard try isMoved() else { return }
    } catch {
      engine.rollBack()
      throw error
    }
    engine.rollBack()
    throw Self.moved
  }

  private static let moved = StoreError(
    "the store was moved to another place by `store move`", help: "`roamward-gateway store show` says which one is used; try again")

  /// Whether another store has its contents, and is used in its place.
  func isMoved() throws(StoreError) -> Bool { try meta("moved") == 1 }

  package func wasMoved() throws(StoreError) -> Bool { try reading { () throws(StoreError) in try isMoved() } }

  /// Throws if another store is used in its place.
  package func refuseIfMoved() throws(StoreError) { if try wasMoved() { throw Self.moved } }

  func reading<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    try prepare()
    try engine.beginReading()
    return try finishing(body)
  }

  private func finishing<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) {
      let result = try body()
      try engine.commit()
      return result
    } catch {
      engine.rollBack()
      throw error
    }
  }
}

// Following.
extension GatewayStore {
  package typealias View = StoreView

  /// Everything.
  package func load() throws(StoreError) -> View { try reading { () throws(StoreError) in try wholeView() } }

  /// The rows of an excerpt.
  package func load(_ excerpt: Excerpt) throws(StoreError) -> Directory {
    try reading { () throws(StoreError) in try directory(excerpt) }
  }

  private func directory(_ excerpt: Excerpt) throws(StoreError) -> Directory {
    switch excerpt {
    case .everything: try wholeView().directory
    case .users(let names, let addresses): try self.excerpt(of: names, addresses)
    }
  }

  private func wholeView() throws(StoreError) -> View {
    var view = View(directory: Directory(viewpoint: viewpoint), version: try meta("version") ?? 0)
    for change in try rows(after: 0) { view.directory.apply(change) }
    return view
  }

  /// The changes that brought a view up to date.
  package enum Update: Equatable, Sendable {
    case rows([RowChange])
    /// Everything was read anew: tombstones were missing.
    case everything

    package var isEmpty: Bool { self == .rows([]) }
  }

  /// Brings a view up to date. Reads what changed since, or everything if tombstones are missing. `willApply` gets changes of rows, and the
  /// directory without them.
  @discardableResult package func refresh(
    _ view: inout View, willApply: (Directory, [RowChange]) -> Void = { _, _ in }
  ) throws(StoreError) -> Update {
    let seen = view.version
    enum Read {
      case rows([RowChange], Int64)
      case everything(View)
    }
    let read = try reading { () throws(StoreError) -> Read in
      if let (changes, version) = try changes(after: seen) { .rows(changes, version) } else { .everything(try wholeView()) }
    }
    switch read {
    case .rows(let changes, let version):
      willApply(view.directory, changes)
      // In place: a second copy of the directory would be a copy of all rows.
      for change in changes { view.directory.apply(change) }
      view.version = version
      return .rows(changes)
    case .everything(let new):
      view = new
      return .everything
    }
  }

  /// The changes after a version, and the present version; `nil`: tombstones are missing.
  private func changes(after seen: Int64) throws(StoreError) -> (changes: [RowChange], version: Int64)? {
    let version = try meta("version") ?? 0
    // A store that was restored from a backup counts from an earlier number.
    guard version >= seen, try meta("oldest") ?? 0 <= seen else { return nil }
    if version == seen { return ([], version) }
    var changes: [RowChange] = []
    for tombstone in try engine.run("SELECT kind, id FROM tombstones WHERE version > $1", [.integer(seen)]) {
      guard case .text(let kind) = tombstone[0], let kind = RowKind(rawValue: kind), case .integer(let id) = tombstone[1] else {
        throw StoreError("table tombstones: unexpected values")
      }
      changes.append(.remove(kind, id))
    }
    return (changes + (try rows(after: seen)), version)
  }

  private func rows(after version: Int64) throws(StoreError) -> [RowChange] {
    var changes: [RowChange] = []
    for kind in RowKind.allCases { changes += try rows(kind, "version > $1", [.integer(version)]).map { .put($0) } }
    return changes
  }

  /// The rows of a table for which a condition holds; without one, all of them.
  func rows(_ kind: RowKind, _ condition: String = "", _ values: [SQLValue] = []) throws(StoreError) -> [AnyRow] {
    let columns = (["id"] + kind.table.columns).joined(separator: ", ")
    var rows: [AnyRow] = []
    for values in try engine.run("SELECT \(columns) FROM \(kind.table.name)\(condition.isEmpty ? "" : " WHERE \(condition)")", values) {
      guard case .integer(let id) = values[0] else { throw StoreError("table \(kind.table.name): a row without a number") }
      do throws(RowError) {
        rows.append(try AnyRow(kind, id: id, values: Array(values.dropFirst())))
      } catch {
        throw StoreError(error.description, help: "restore the store from a copy, or correct the row")
      }
    }
    return rows
  }
}

// Changing.
extension GatewayStore {
  package typealias Refusal = StoreRefusal

  /// Runs requests in one transaction: all of them are made, with their entries of the audit log, or none. `excerpt`: the rows that they
  /// need.
  package func change<R>(
    as actor: String, at now: Timestamp, reading excerpt: Excerpt = .everything, _ body: (inout Administration) throws(GatewayError) -> R
  ) throws(Refusal) -> R {
    do throws(StoreError) {
      try prepare()
      // Many rows take seconds. Others wait for the lock meanwhile, and PostgreSQL ends a change that pauses for three.
      if case .everything = excerpt, known == nil { known = try load() }
      try beginWriting()
    } catch { throw .store(error) }
    do throws(Refusal) {
      return try changing(as: actor, at: now, excerpt, body)
    } catch {
      engine.rollBack()
      throw error
    }
  }

  /// Runs requests on what the store has, and writes nothing. `excerpt`: the rows that they need.
  package func tryOut<R>(
    as actor: String, at now: Timestamp, reading excerpt: Excerpt = .everything, _ body: (inout Administration) throws(GatewayError) -> R
  ) throws(Refusal) -> R {
    var work: Administration
    do throws(StoreError) {
      work = try reading { () throws(StoreError) in
        Administration(try directory(excerpt), lastID: try meta("last-id") ?? 0, actor: actor, now: now)
      }
    } catch { throw .store(error) }
    do throws(GatewayError) { return try body(&work) } catch { throw .request(error) }
  }

  private func changing<R>(
    as actor: String, at now: Timestamp, _ excerpt: Excerpt, _ body: (inout Administration) throws(GatewayError) -> R
  ) throws(Refusal) -> R {
    var work: Administration
    // Of a directory that is known: the next change reads what is newer, also the rows of this one.
    var version: Int64?
    do throws(StoreError) {
      let lastID = try meta("last-id") ?? 0
      switch excerpt {
      case .everything:
        let view = try takeWholeView()
        version = view.version
        work = Administration(view.directory, lastID: lastID, actor: actor, now: now)
      case .users: work = Administration(try directory(excerpt), lastID: lastID, actor: actor, now: now)
      }
    } catch { throw .store(error) }
    defer { if let version { known = View(directory: work.directory, version: version) } }
    do throws(Refusal) {
      let result: R
      do throws(GatewayError) { result = try body(&work) } catch { throw .request(error) }
      do throws(StoreError) {
        try write(work)
        try engine.commit()
      } catch { throw .store(error) }
      return result
    } catch {
      work.undo()
      throw error
    }
  }

  /// The known view with the changes since, or a whole one that is read anew. `known` is empty afterwards: with a second reference, the
  /// first change of a row would copy all of them.
  private func takeWholeView() throws(StoreError) -> View {
    guard let seen = known?.version, let (changes, version) = try changes(after: seen), var view = known.take() else {
      return try wholeView()
    }
    for change in changes { view.directory.apply(change) }
    view.version = version
    return view
  }

  private func write(_ work: Administration) throws(StoreError) {
    if work.changes.isEmpty, work.records.isEmpty { return }
    let version = try (meta("version") ?? 0) + 1
    try setMeta("version", version)
    try setMeta("last-id", work.lastID)
    for change in work.changes {
      switch change {
      case .put(let row):
        // One that was removed, and is back.
        try engine.run("DELETE FROM tombstones WHERE id = $1", [.integer(row.id)])
        try put(row, version)
      case .remove(let kind, let id):
        try engine.run("DELETE FROM \(kind.table.name) WHERE id = $1", [.integer(id)])
        try engine.run(
          "INSERT INTO tombstones (id, version, kind, removed) VALUES ($1, $2, $3, $4)",
          [.integer(id), .integer(version), .text(kind.rawValue), SQLValue(work.now)])
      }
    }
    try sweepTombstones(before: work.now - Self.tombstoneAge)
    var chain = try chain()
    for record in work.records { try append(chain.append(record, at: work.now)) }
    try engine.announce()
  }

  func put(_ row: AnyRow, _ version: Int64) throws(StoreError) {
    try engine.run(row.kind.table.replacement, [.integer(row.id), .integer(version)] + row.values)
  }

  private func sweepTombstones(before time: Timestamp) throws(StoreError) {
    guard
      case .integer(let newest) = try engine.run("SELECT max(version) FROM tombstones WHERE removed < $1", [SQLValue(time)]).first?.first
    else { return }
    try engine.run("DELETE FROM tombstones WHERE removed < $1", [SQLValue(time)])
    try setMeta("oldest", newest)
  }
}

/// The reason why a transaction was not made.
package enum StoreRefusal: Error, CustomStringConvertible {
  case request(GatewayError)
  case store(StoreError)

  package var description: String {
    switch self {
    case .request(let error): error.description
    case .store(let error): error.description
    }
  }
}

/// The rows that a gateway has read, and their version.
package struct StoreView: Hashable, Sendable {
  package var directory: Directory
  package var version: Int64
}

extension TableDeclaration {
  /// The statement that adds a row, or replaces the one with its number.
  fileprivate var replacement: String {
    let all = ["version"] + columns
    let places = (1...all.count + 1).map { "$\($0)" }.joined(separator: ", ")
    return "INSERT INTO \(name) (id, \(all.joined(separator: ", "))) VALUES (\(places)) ON CONFLICT (id) DO UPDATE SET "
      + all.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
  }
}
