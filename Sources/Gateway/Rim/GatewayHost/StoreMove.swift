internal import GatewayCore
internal import GatewayStore
internal import Glibc
internal import LinuxIO
internal import NetworkTypes

/// A move of the store to another place, while the gateway runs: one transaction of the present store copies everything, and ends its use.
///
/// The new place is noted before that transaction is committed, and used afterwards. So a process that is killed between leaves a store
/// that refuses changes, and the note: the next program to open the store uses the new one. Without the commit the note means nothing.
package struct StoreMove {
  private let folder: StateFolder

  package init(_ folder: StateFolder) { self.folder = folder }

  /// The new place: a connection string, or an empty text for the file.
  private var notePath: String { "\(folder.path)/store.next" }
  /// The copy of a store that moves into the file.
  private var copyPath: String { "\(folder.storePath).new" }

  /// Moves everything to an empty database, or with `nil` into the file, and uses it. Returns the number of rows.
  package func run(to server: String?) throws -> Int {
    guard let lock = try lock() else {
      throw GatewayError("another `store move` is at work", help: "try again when it is done")
    }
    defer { withExtendedLifetime(lock) {} }
    try settle(lock)
    guard try folder.storeServer() != server else {
      throw GatewayError("the store is there already", help: "`roamward-gateway store show` says where it is")
    }
    let from = try folder.store()
    if server == nil, folder.hasStoreFile { try refuseUnmovedFile() }
    let count = try move(from, to: server)
    FaultPoint.pass("after moving the store")
    try complete()
    return count
  }

  private func move(_ from: GatewayStore, to server: String?) throws -> Int {
    let to: GatewayStore
    if let server {
      to = try GatewayStore(StoreProcess(server), creating: true)
    } else {
      // It was never used: its move was not committed.
      for end in ["", "-wal", "-shm"] { unlink(copyPath + end) }
      // It has the store's secrets: no other user may read it, from its first byte.
      try TextFile.create(copyPath, with: [], mode: 0o600)
      to = try GatewayStore(try SQLiteEngine(copyPath, creating: true), creating: true)
    }
    return try from.move(to: to) { () throws(StoreError) in
      do throws(SystemError) { try TextFile.replace(notePath, with: Array((server ?? "").utf8), mode: 0o600) } catch {
        throw StoreError("\(error)")
      }
    }
  }

  /// Whether a move was begun, and not completed: by a process that is at work, or was killed.
  var isUnfinished: Bool { access(notePath, F_OK) == 0 }

  /// Completes a move whose process was killed after the present store was given up. Does nothing while one is at work.
  func settle() throws {
    guard isUnfinished, let lock = try lock() else { return }
    try settle(lock)
  }

  private func settle(_ lock: FileDescriptor) throws {
    guard isUnfinished else { return }
    let store = try folder.presentStore(creating: false, waiting: false).store
    if try store.wasMoved() { return try complete() }
    try end(store)
    withExtendedLifetime(lock) {}
  }

  /// Uses the place of the note. Each step may be the second one of its kind.
  private func complete() throws {
    let place = String(decoding: try TextFile.read(notePath, limit: 4096), as: UTF8.self)
    if place.isEmpty, access(copyPath, F_OK) == 0 {
      if folder.hasStoreFile { try putAsideMovedFile() }
      guard rename(copyPath, folder.storePath) == 0 else { throw SystemError.last("rename \(copyPath)") }
      FaultPoint.pass("after renaming to \(folder.storePath)")
    }
    try folder.useStore(place.isEmpty ? nil : place)
    try end(try folder.presentStore(creating: false, waiting: false).store)
  }

  /// The store is in use. A running gateway is woken, whose note of its store is another one.
  private func end(_ store: GatewayStore) throws {
    folder.announceChange()
    try store.endArrival()
    try TextFile.remove(notePath)
  }

  /// Throws unless the file has a store that was moved: it has nothing that the present store has not.
  private func refuseUnmovedFile() throws {
    guard try GatewayStore(try SQLiteEngine(folder.storePath)).wasMoved() else {
      throw GatewayError(
        "\(folder.storePath) has a store that was not moved", help: "rename it; it may have what the present one has not")
    }
  }

  /// Makes room for a store that comes back.
  private func putAsideMovedFile() throws {
    try refuseUnmovedFile()
    // Its last connection has closed: everything is in the file itself.
    guard rename(folder.storePath, "\(folder.storePath).moved") == 0 else { throw SystemError.last("rename \(folder.storePath)") }
    for end in ["-wal", "-shm"] { unlink(folder.storePath + end) }
    FaultPoint.pass("after renaming \(folder.storePath)")
  }

  /// Waits until the running gateway uses the store that commands use. `nil`: none runs; false: it does not within ten seconds.
  package func awaitGateway() -> Bool? {
    let end = Moment.now + .seconds(10)
    while folder.isServed {
      guard let unserved = folder.unserved, unserved.hasOtherStore else { return true }
      guard Moment.now < end else { return false }
      usleep(50_000)
    }
    return nil
  }

  private func lock() throws(SystemError) -> FileDescriptor? {
    try LockFile("\(folder.path)/store.lock").take(patience: .zero)
  }
}
