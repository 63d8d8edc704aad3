package import GatewayCore

/// A database, as the store needs it. Statements are in the common subset of SQLite and PostgreSQL: values are `$1`, `$2` …, each used once
/// and in order; types are BIGINT, TEXT and BYTEA.
package protocol StoreEngine: AnyObject {
  /// Begins a transaction in which no other program writes.
  func beginWriting() throws(StoreError)
  /// Begins a transaction that sees one state of the database.
  func beginReading() throws(StoreError)
  func commit() throws(StoreError)
  func rollBack()
  /// Wakes those that follow the database, when this transaction is committed. A wake may be lost.
  func announce() throws(StoreError)
  /// Runs one statement, and returns its rows.
  @discardableResult func run(_ statement: String, _ values: [SQLValue]) throws(StoreError) -> [[SQLValue]]
  /// Problems of the database itself, as its own check reports them.
  func problems() throws(StoreError) -> [String]
}

/// A failure of the store, and what to do.
package struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
  package let text: String
  package let help: String?

  package init(_ text: String, help: String? = nil) {
    self.text = text
    self.help = help
  }

  package var description: String { help.map { "\(text)\n  help: \($0)" } ?? text }
}
