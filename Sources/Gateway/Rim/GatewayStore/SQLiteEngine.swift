internal import CSQLite
package import GatewayCore
internal import Glibc

/// The store in one file, by SQLite. Several programs of the machine may use it at the same time. It must be on a local file system.
package final class SQLiteEngine: StoreEngine {
  private let database: OpaquePointer
  private let path: String
  /// Prepared statements by their text.
  private var statements: [String: OpaquePointer] = [:]

  /// The longest wait of a transaction for another program's, in milliseconds.
  private static let patience: Int32 = 10_000

  /// Opens the file, or creates it (`creating`) with access for its owner alone.
  package init(_ path: String, creating: Bool = false) throws(StoreError) {
    // SQLite gives its other files the mode of this one. A file that is there is left alone: closing it would end the locks that other
    // connections of this process have on it (fcntl(2)).
    if creating, access(path, F_OK) != 0 { close(open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)) }
    var database: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | (creating ? SQLITE_OPEN_CREATE : 0)
    let status = sqlite3_open_v2(path, &database, flags, nil)
    guard let database else { throw StoreError("store \(path): out of memory") }
    guard status == SQLITE_OK else {
      let reason = String(cString: sqlite3_errmsg(database))
      sqlite3_close_v2(database)
      throw StoreError("store \(path): \(reason)", help: creating ? nil : "`roamward-gateway init` makes it; run as root")
    }
    self.database = database
    self.path = path
    sqlite3_busy_timeout(database, Self.patience)
    sqlite3_extended_result_codes(database, 1)
    // A file that is no database fails here. Every commit is on disk before it counts: a revocation must outlast a power failure.
    for pragma in ["PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON"] {
      try run(pragma, [])
    }
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close_v2(database)
  }

  package func beginWriting() throws(StoreError) { try run("BEGIN IMMEDIATE", []) }
  package func beginReading() throws(StoreError) { try run("BEGIN", []) }
  package func commit() throws(StoreError) { try run("COMMIT", []) }
  package func rollBack() { _ = try? run("ROLLBACK", []) }

  /// Other programs of the machine are woken by the file `changed` of the gateway's folder.
  package func announce() {}

  package func problems() throws(StoreError) -> [String] {
    try run("PRAGMA integrity_check", []).compactMap { row in
      if case .text(let text) = row.first, text != "ok" { text } else { nil }
    }
  }

  @discardableResult package func run(_ text: String, _ values: [SQLValue]) throws(StoreError) -> [[SQLValue]] {
    let statement = try prepared(text)
    defer {
      sqlite3_reset(statement)
      sqlite3_clear_bindings(statement)
    }
    for (i, value) in values.enumerated() { try bind(value, to: statement, at: Int32(i + 1)) }
    var rows: [[SQLValue]] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW: rows.append((0..<sqlite3_column_count(statement)).map { Self.value(of: statement, at: $0) })
      case SQLITE_DONE: return rows
      default: throw failure()
      }
    }
  }

  private func prepared(_ text: String) throws(StoreError) -> OpaquePointer {
    if let statement = statements[text] { return statement }
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(database, text, -1, &statement, nil) == SQLITE_OK, let statement else { throw failure() }
    statements[text] = statement
    return statement
  }

  private func bind(_ value: SQLValue, to statement: OpaquePointer, at place: Int32) throws(StoreError) {
    // SQLITE_TRANSIENT: SQLite makes a copy.
    let copying = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    let status =
      switch value {
      case .null: sqlite3_bind_null(statement, place)
      case .integer(let number): sqlite3_bind_int64(statement, place, number)
      case .text(let text): sqlite3_bind_text(statement, place, text, Int32(text.utf8.count), copying)
      case .bytes(let bytes): sqlite3_bind_blob(statement, place, bytes, Int32(bytes.count), copying)
      }
    if status != SQLITE_OK { throw failure() }
  }

  private static func value(of statement: OpaquePointer, at place: Int32) -> SQLValue {
    switch sqlite3_column_type(statement, place) {
    case SQLITE_INTEGER: .integer(sqlite3_column_int64(statement, place))
    case SQLITE_TEXT:
      .text(
        String(
          decoding: UnsafeBufferPointer(start: sqlite3_column_text(statement, place), count: Int(sqlite3_column_bytes(statement, place))),
          as: UTF8.self))
    case SQLITE_BLOB:
      .bytes(
        [UInt8](UnsafeRawBufferPointer(start: sqlite3_column_blob(statement, place), count: Int(sqlite3_column_bytes(statement, place)))))
    default: .null
    }
  }

  private func failure() -> StoreError {
    let reason = String(cString: sqlite3_errmsg(database))
    let help: String? =
      switch sqlite3_errcode(database) & 0xff {
      case SQLITE_BUSY: "another program has held it for \(Self.patience / 1000) s; try again"
      case SQLITE_FULL: "make room on its disk"
      case SQLITE_CORRUPT, SQLITE_NOTADB: "restore a backup: `roamward-gateway restore --replace FILE`"
      case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM: "run as root"
      default: nil
      }
    return StoreError("store \(path): \(reason)", help: help)
  }
}
