internal import GatewayCore

// Copies.
extension GatewayStore {
  /// Copies everything into an empty store, whichever engine it has: rows with their versions, tombstones, the audit log. Both are one
  /// transaction, so the copy is one state of this store. Returns how many rows it has.
  @discardableResult package func copy(to other: GatewayStore) throws(StoreError) -> Int {
    try reading { () throws(StoreError) in try StoreTransfer(from: self, to: other).run(isMove: false) }
  }

  /// Copies everything into an empty store, and hands over to it, while no other program can change this one: `note` is called just before
  /// this store is given up. Those that waited are refused afterwards. Returns how many rows it has.
  package func move(to other: GatewayStore, note: () throws(StoreError) -> Void) throws(StoreError) -> Int {
    try writing { () throws(StoreError) in
      let count = try StoreTransfer(from: self, to: other).run(isMove: true)
      try setMeta("moved", 1)
      try note()
      return count
    }
  }

  /// Copies everything into a new file, or an empty one.
  package func backUp(to path: String) throws(StoreError) {
    try copy(to: try GatewayStore(try SQLiteEngine(path, creating: true), creating: true))
  }

  /// The store is in use: it is no longer a copy that a move may make again.
  package func endArrival() throws(StoreError) {
    if try meta("arriving") == 1 { try writing { () throws(StoreError) in try setMeta("arriving", 0) } }
  }
}

/// A copy of all tables.
private struct StoreTransfer {
  let from: GatewayStore
  let to: GatewayStore

  /// The tables of the store with all their columns; the first one is the key.
  private static let tables: [(name: String, columns: [String])] =
    RowKind.allCases.map { ($0.table.name, ["id", "version"] + $0.table.columns) } + [
      ("tombstones", ["id", "version", "kind", "removed"]),
      ("audit", ["sequence", "time", "actor", "verb", "object", "detail", "hash"]),
    ]

  /// Rows that are read at once.
  private static let page = 500

  /// In a transaction of the store that is copied.
  func run(isMove: Bool) throws(StoreError) -> Int {
    try to.writing { () throws(StoreError) in
      try clearUnusedCopy()
      guard try to.meta("version") ?? 0 == 0, try to.newestEntries(1).isEmpty else {
        throw StoreError("the store to copy into is not empty", help: "copy into a new file, or an empty database")
      }
      var count = 0
      for table in Self.tables { count += try copy(table) }
      for name in ["version", "last-id", "oldest"] { if let value = try from.meta(name) { try to.setMeta(name, value) } }
      if isMove { try to.setMeta("arriving", 1) }
      return count
    }
  }

  /// Empties a copy of this store that a killed move has left, and that nothing has used: its newest entry of the audit log is one of this
  /// store's, so it has nothing else.
  private func clearUnusedCopy() throws(StoreError) {
    guard try to.meta("arriving") == 1, let last = try to.newestEntries(1).first,
      try from.entries(after: last.sequence - 1).first == last
    else { return }
    for table in Self.tables { try to.engine.run("DELETE FROM \(table.name)", []) }
    for name in ["version", "last-id", "oldest", "arriving"] { try to.setMeta(name, 0) }
  }

  private func copy(_ table: (name: String, columns: [String])) throws(StoreError) -> Int {
    let columns = table.columns.joined(separator: ", ")
    let numbers = (1...table.columns.count).map { "$\($0)" }.joined(separator: ", ")
    var (count, last) = (0, Int64.min)
    while true {
      let rows = try from.engine.run(
        "SELECT \(columns) FROM \(table.name) WHERE \(table.columns[0]) > $1 ORDER BY \(table.columns[0]) LIMIT \(Self.page)",
        [.integer(last)])
      for row in rows {
        guard case .integer(let key) = row[0] else { throw StoreError("table \(table.name): a row without a number") }
        try to.engine.run("INSERT INTO \(table.name) (\(columns)) VALUES (\(numbers))", row)
        last = key
      }
      count += rows.count
      if rows.count < Self.page { return count }
    }
  }
}
