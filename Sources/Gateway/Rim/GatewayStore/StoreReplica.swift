internal import GatewayCore
internal import Glibc
package import KernelModel

/// A copy of the last view of a store on a server, in a file of its own (SQLite, for its owner alone). It suffices to start and to serve
/// while the server is away. Passwords, one-time codes and tokens are not in it, because there are no logins then.
package final class StoreReplica {
  private let path: String
  /// As of the store itself.
  private let viewpoint: WireGuardKey?
  private var store: GatewayStore?

  private static let kinds = RowKind.allCases.filter { $0 != .credentials && $0 != .tokens }

  package init(_ path: String, viewpoint: WireGuardKey? = nil) {
    self.path = path
    self.viewpoint = viewpoint
  }

  private func opened() throws(StoreError) -> GatewayStore {
    if let store { return store }
    let store = try GatewayStore(try SQLiteEngine(path, creating: true), creating: true, viewpoint: viewpoint)
    self.store = store
    return store
  }

  /// The last view; `nil`: there is none. Its version makes the next refresh read everything: rows are missing here.
  package func load() throws(StoreError) -> GatewayStore.View? {
    guard access(path, F_OK) == 0 else { return nil }
    var view = try opened().load()
    guard view.version > 0 else { return nil }
    view.version = -1
    return view
  }

  /// Writes what an update has changed. The first call writes all of the view: the file may be of an earlier time.
  package func write(_ view: GatewayStore.View, after update: GatewayStore.Update) throws(StoreError) {
    guard case .rows(let changes) = update, let store else { return try rewrite(view) }
    if changes.isEmpty { return }
    try store.writing { () throws(StoreError) in
      for change in changes {
        switch change {
        case .put(let row): if Self.kinds.contains(row.kind) { try store.put(row, view.version) }
        case .remove(let kind, let id): try store.engine.run("DELETE FROM \(kind.table.name) WHERE id = $1", [.integer(id)])
        }
      }
      try store.setMeta("version", view.version)
    }
  }

  private func rewrite(_ view: GatewayStore.View) throws(StoreError) {
    let store: GatewayStore
    do throws(StoreError) {
      store = try opened()
    } catch {
      // A damaged file, or one of a later version.
      remove()
      store = try opened()
    }
    try store.writing { () throws(StoreError) in
      for kind in Self.kinds {
        try store.engine.run("DELETE FROM \(kind.table.name)", [])
        for row in view.directory.rows(kind) { try store.put(row, view.version) }
      }
      try store.setMeta("version", view.version)
    }
  }

  /// Removes the file.
  package func remove() {
    store = nil
    for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
  }
}
