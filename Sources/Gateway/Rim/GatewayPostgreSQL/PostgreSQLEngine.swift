internal import CPostgreSQL
package import GatewayCore
package import GatewayStore
internal import NetworkTypes

/// The store in a database of PostgreSQL, by libpq. Values are sent apart from the statements, and never become part of their text.
package final class PostgreSQLEngine: StoreEngine {
  private let connection: OpaquePointer
  /// The lock that every writing transaction takes (pg_advisory_xact_lock): the bytes of "roamward".
  private static let lock: Int64 = 0x726f_616d_7761_7264

  /// The channel that a writing transaction notifies (NOTIFY).
  private static let news = "roamward_gateway"
  /// A connection that hangs must not keep a view of the store, nor wait for the lock without an end.
  private static let limits = "SET lock_timeout = '4s'; SET idle_in_transaction_session_timeout = '10s'"
  /// The lock of a connection that has vanished is free before another one has waited for too long.
  private static let takeLock =
    "SELECT pg_advisory_xact_lock(\(lock)), set_config('idle_in_transaction_session_timeout', '3s', true)"

  /// Connects as libpq's connection string says: `host=/run/postgresql dbname=gateway`. With `listening`, it is told of every committed
  /// change (`takeNews`).
  package init(_ target: String, listening: Bool = false) throws(StoreError) {
    // The string is expanded in its turn, and decides over what stands before it.
    let names = ["connect_timeout", "application_name", "dbname"].map { Optional(ContiguousArray($0.utf8CString)) } + [nil]
    let values = ["4", "roamward-gateway", target].map { Optional(ContiguousArray($0.utf8CString)) } + [nil]
    let connection = Self.withPointers(to: names[...], []) { names in
      Self.withPointers(to: values[...], []) { values in PQconnectdbParams(names, values, 1) }
    }
    guard let connection else { throw StoreError("store: out of memory") }
    guard PQstatus(connection) == CONNECTION_OK else {
      let reason = Self.firstLine(PQerrorMessage(connection))
      PQfinish(connection)
      throw StoreError("store: \(reason)", help: "check the server, and the connection string")
    }
    self.connection = connection
    // `CREATE TABLE IF NOT EXISTS` has a notice, which is no error.
    PQsetNoticeProcessor(connection, { _, _ in }, nil)
    for statement in Self.limits.split(separator: ";") { try run(String(statement), []) }
    if listening { try run("LISTEN \(Self.news)", []) }
  }

  deinit { PQfinish(connection) }

  package func beginWriting() throws(StoreError) {
    try run("BEGIN", [])
    do throws(StoreError) {
      try run(Self.takeLock, [])
    } catch {
      rollBack()
      throw error
    }
  }

  package func beginReading() throws(StoreError) { try run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", []) }
  package func commit() throws(StoreError) { try run("COMMIT", []) }
  package func rollBack() { _ = try? run("ROLLBACK", []) }

  package func announce() throws(StoreError) { try run("NOTIFY \(Self.news)", []) }

  /// The socket of the connection: readable when there may be news.
  package var socket: Int32 { PQsocket(connection) }
  package var isConnected: Bool { PQstatus(connection) == CONNECTION_OK }

  /// Whether a change was told since the last call. Never waits.
  package func takeNews() -> Bool {
    PQconsumeInput(connection)
    var found = false
    while let news = PQnotifies(connection) {
      found = true
      PQfreemem(news)
    }
    return found
  }

  /// The server checks its pages itself.
  package func problems() throws(StoreError) -> [String] { [] }

  @discardableResult package func run(_ statement: String, _ values: [SQLValue]) throws(StoreError) -> [[SQLValue]] {
    let texts = values.map(Self.text)
    if texts.contains(where: { $0?.utf8.contains(0) ?? false }) { throw StoreError("store: PostgreSQL holds no text with U+0000") }
    // Zero-terminated copies, alive until the statement has run.
    let copies = texts.map { text in text.map { ContiguousArray($0.utf8CString) } }
    let result = Self.withPointers(to: copies[...], []) {
      PQexecParams(connection, statement, Int32($0.count), nil, $0, nil, nil, 0)
    }
    guard let result else { throw failure() }
    defer { PQclear(result) }
    let status = PQresultStatus(result)
    guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK else { throw failure() }
    var rows: [[SQLValue]] = []
    for row in 0..<PQntuples(result) {
      var values: [SQLValue] = []
      for column in 0..<PQnfields(result) { values.append(try value(of: result, row, column)) }
      rows.append(values)
    }
    return rows
  }

  private static func withPointers<R>(
    to rest: ArraySlice<ContiguousArray<CChar>?>, _ pointers: [UnsafePointer<CChar>?], _ body: ([UnsafePointer<CChar>?]) -> R
  ) -> R {
    guard let first = rest.first else { return body(pointers) }
    guard let copy = first else { return withPointers(to: rest.dropFirst(), pointers + [nil], body) }
    return copy.withUnsafeBufferPointer { withPointers(to: rest.dropFirst(), pointers + [$0.baseAddress], body) }
  }

  /// A parameter in PostgreSQL's text form; `nil` is NULL. It has no NUL (`run`).
  private static func text(_ value: SQLValue) -> String? {
    switch value {
    case .null: nil
    case .integer(let number): String(number)
    case .text(let text): text
    case .bytes(let bytes): "\\x" + bytes.map(hexadecimal).joined()
    }
  }

  /// Types by their numbers in pg_type: 20, 21 and 23 are integers, 17 is bytea.
  private func value(of result: OpaquePointer, _ row: Int32, _ column: Int32) throws(StoreError) -> SQLValue {
    if PQgetisnull(result, row, column) == 1 { return .null }
    let text = PQgetvalue(result, row, column).map { String(cString: $0) } ?? ""
    switch PQftype(result, column) {
    case 20, 21, 23: if let number = Int64(text) { return .integer(number) }
    case 17: if text.hasPrefix("\\x"), let bytes = bytes(fromHex: text.dropFirst(2)) { return .bytes(bytes) }
    default: return .text(text)
    }
    throw StoreError("store: the server sent a value of another form")
  }

  private func failure() -> StoreError {
    return StoreError(
      "store: \(Self.firstLine(PQerrorMessage(connection)))", help: isConnected ? nil : "the connection to the server is lost; try again")
  }

  private static func firstLine(_ text: UnsafePointer<CChar>?) -> String {
    text.flatMap { String(cString: $0).split(separator: "\n").first.map(String.init) } ?? "no reason given"
  }
}
