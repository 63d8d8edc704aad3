internal import GatewayCore

// Copies.
extension GatewayStore {
  /// The tables of the store with all their columns; the first one is the key.
  private static let tables: [(name: String, columns: [String])] =
    RowKind.allCases.map { ($0.table.name, ["id", "version"] + $0.table.columns) } + [
      ("tombstones", ["id", "version", "kind", "removed"]),
      ("audit", ["sequence", "time", "actor", "verb", "object", "detail", "hash"]),
    ]

  /// Rows that are read at once.
  private static let page = 500

  /// Copies everything into an empty store, whichever engine it has: rows with their versions, tombstones, the audit log. Both are one
  /// transaction, so the copy is one state of this store. Returns how many rows it has.
  @discardableResult package func copy(to other: GatewayStore) throws(StoreError) -> Int {
    try reading { () throws(StoreError) in try copyAll(to: other) }
  }

  /// Copies everything into an empty store, and hands over to it by `use`, while no other program can change this one. Those that waited
  /// are refused afterwards. Returns how many rows it has.
  package func move(to other: GatewayStore, use: () throws(StoreError) -> Void) throws(StoreError) -> Int {
    try writing { () throws(StoreError) in
      let count = try copyAll(to: other)
      try setMeta("moved", 1)
      try use()
      return count
    }
  }

  private func copyAll(to other: GatewayStore) throws(StoreError) -> Int {
    try other.writing { () throws(StoreError) in
      guard try other.meta("version") ?? 0 == 0, try other.newestEntries(1).isEmpty else {
        throw StoreError("the store to copy into is not empty", help: "copy into a new file, or an empty database")
      }
      var count = 0
      for table in Self.tables { count += try copy(table, to: other) }
      for name in ["version", "last-id", "oldest"] { if let value = try meta(name) { try other.setMeta(name, value) } }
      return count
    }
  }

  private func copy(_ table: (name: String, columns: [String]), to other: GatewayStore) throws(StoreError) -> Int {
    let columns = table.columns.joined(separator: ", ")
    let numbers = (1...table.columns.count).map { "$\($0)" }.joined(separator: ", ")
    var (count, last) = (0, Int64.min)
    while true {
      let rows = try engine.run(
        "SELECT \(columns) FROM \(table.name) WHERE \(table.columns[0]) > $1 ORDER BY \(table.columns[0]) LIMIT \(Self.page)",
        [.integer(last)])
      for row in rows {
        guard case .integer(let key) = row[0] else { throw StoreError("table \(table.name): a row without a number") }
        try other.engine.run("INSERT INTO \(table.name) (\(columns)) VALUES (\(numbers))", row)
        last = key
      }
      count += rows.count
      if rows.count < Self.page { return count }
    }
  }

  /// Copies everything into a new file, or an empty one.
  package func backUp(to path: String) throws(StoreError) {
    try copy(to: try GatewayStore(try SQLiteEngine(path, creating: true), creating: true))
  }
}
