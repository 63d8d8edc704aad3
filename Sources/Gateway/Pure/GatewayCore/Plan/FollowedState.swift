package import KernelModel
package import KeyMemory
package import NetworkTypes

/// The desired state of a running gateway, which follows the directory: computed from all devices once, then changed in those that a change
/// reaches. So neither a change nor a look at the kernel evaluates devices that stay as they were.
package struct FollowedState: Sendable {
  private var state: GatewayState?
  /// When it holds: from its last change until the next end of an account.
  private var validity: Range<Timestamp> = .distantFuture ..< .distantFuture
  /// The number of evaluations of all devices so far.
  package private(set) var computations = 0

  package init() {}

  /// The desired state at a time; `nil`: the gateway has not been initialised.
  package mutating func state(
    of directory: Directory, privateKey: SecretKey, engine: WireGuardEngine, at now: Timestamp
  ) -> GatewayState? {
    if let state, validity.contains(now), state.device.engine == engine { return state }
    computations += 1
    state = GatewayState(directory, privateKey: privateKey, engine: engine, at: now)
    validity = now..<(directory.users.values.lazy.compactMap(\.until).filter { $0 > now }.min() ?? .distantFuture)
    return state
  }

  /// Follows a change of the directory; `nil`: what it changed is not known. Where it reaches more than a few devices, the next `state`
  /// evaluates all of them.
  package mutating func follow(_ change: DeviceChange?, at now: Timestamp) {
    guard let change, let after = change.after, case .devices = change.reach, validity.contains(now),
      state?.follow(change.before, after) ?? false
    else {
      state = nil
      return
    }
    validity = now..<min(validity.upperBound, change.nextEnd(after: now))
  }
}

extension GatewayState {
  /// Makes the parts of some devices the others, in place. Returns false, with unknown effect, where the whole has another shape.
  fileprivate mutating func follow(_ old: DevicePart, _ new: DevicePart) -> Bool {
    if old == new { return true }
    guard table.follow(old.table, new.table) else { return false }
    for peer in old.peers {
      let place = place(of: peer.publicKey)
      guard place < device.peers.count, device.peers[place] == peer else { return false }
      device.peers.remove(at: place)
    }
    for peer in new.peers {
      let place = place(of: peer.publicKey)
      if place < device.peers.count, device.peers[place].publicKey == peer.publicKey { return false }
      device.peers.insert(peer, at: place)
    }
    return true
  }

  /// The first place of a peer that is not before this one.
  private func place(of key: WireGuardKey) -> Int {
    var (low, high) = (0, device.peers.count)
    while low < high {
      let middle = (low + high) / 2
      if device.peers[middle].publicKey.bytes.lexicographicallyPrecedes(key.bytes) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
