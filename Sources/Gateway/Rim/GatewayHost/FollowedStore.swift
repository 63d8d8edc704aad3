internal import GatewayCore
internal import GatewayStore
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// The store as a running gateway follows it: its last contents stay in force while its server is away.
final class FollowedStore {
  /// A reading of the store, and its effects.
  struct Reading {
    /// The moment of the reading.
    let time: Timestamp
    let update: GatewayStore.Update
    /// `nil`: more has changed than the rows of some devices.
    let change: DeviceChange?
    /// The devices whose settings may have changed.
    let pushed: ChangeReach
  }

  let store: GatewayStore
  private let folder: StateFolder
  /// The way to a store that is no file here.
  private var server: StoreProcess?
  /// The replica with which the gateway starts while the store's server is away; `nil`: the store is a file.
  private var replica: StoreReplica?
  private var view: GatewayStore.View
  /// Whether the store could not be read at the last attempt.
  private(set) var isAway = false
  /// Whether the replica is as the view.
  private var isReplicaCurrent = false
  /// A digest of the store's place.
  private var placeDigest: String

  /// Reads the store, or its replica while it is away; throws if neither is possible.
  init(_ folder: StateFolder, _ store: GatewayStore, _ server: StoreProcess?) throws {
    self.folder = folder
    self.store = store
    self.server = server
    replica = server == nil ? nil : folder.replica
    placeDigest = folder.storeDigest
    do throws(StoreError) {
      view = try store.load()
    } catch {
      guard let last = (try? replica?.load()) ?? nil else { throw error }
      view = last
    }
  }

  var directory: Directory { view.directory }

  var place: RefreshPace.Place { server == nil ? .file : .server }

  var access: RefreshPace.Access {
    isAway ? .away(nextAttempt: server?.nextAttempt) : .reading(nextAttempt: server?.nextAttempt)
  }

  /// Goes on with the store at another place, if `store move` has brought it there: with the same rows and versions. Every user of `store`
  /// does so. A connection string that was written by hand is not followed.
  func followMove() throws -> Bool {
    let move = StoreMove(folder)
    if move.isUnfinished { try move.settle() }
    let digest = folder.storeDigest
    guard digest != placeDigest, try store.wasMoved() else { return false }
    if let target = try folder.storeServer() {
      let process = StoreProcess(target)
      store.use(process)
      (server, replica) = (process, folder.replica)
    } else {
      store.use(try SQLiteEngine(folder.storePath))
      (server, replica) = (nil, nil)
    }
    (placeDigest, isReplicaCurrent) = (digest, false)
    return true
  }

  /// Calls `changed` after the changes of others, as long as the connection to a server lasts.
  func follow(on loop: EventLoop, changed: @escaping () -> Void) { server?.follow(on: loop, changed: changed) }

  /// Reads what has changed.
  func read() throws(StoreError) -> Reading {
    let now = Timestamp.now.wholeSecond
    var change: DeviceChange?
    var pushed = ChangeReach.devices([])
    let update: GatewayStore.Update
    do throws(StoreError) {
      update = try store.refresh(&view) { old, changes in
        change = DeviceChange(of: changes, from: old, at: now)
        pushed = ChangeReach(ofSettings: changes, in: old)
      }
    } catch {
      isAway = true
      throw error
    }
    isAway = false
    if server != nil { folder.recordReading() }
    change?.complete(directory, at: now)
    if case .rows(let changes) = update {
      pushed = pushed.union(ChangeReach(ofSettings: changes, in: directory))
    } else {
      pushed = .everything
    }
    return Reading(time: now, update: update, change: change, pushed: pushed)
  }

  /// Writes what was read for a start without the server.
  func keep(_ update: GatewayStore.Update) {
    do throws(StoreError) { try replica?.write(view, after: isReplicaCurrent ? update : .everything) } catch {
      isReplicaCurrent = false
      return GatewayJournal.log("what was read is not kept for a start without the store: \(error)")
    }
    isReplicaCurrent = true
  }

  /// Whether what was read is older than it may be: no device may connect then.
  var isStale: Bool {
    guard isAway, server != nil, let limit = folder.staleAfter else { return false }
    return Timestamp.now.wholeSecond - (folder.lastReading ?? Timestamp(seconds: 0)) > .seconds(limit)
  }
}
