package import KernelModel
package import NetworkTypes

/// The last endpoint of a device, and the gateway of a pair to which it was connected.
package struct LastEndpoint: Hashable, Sendable {
  package var publicKey: WireGuardKey
  package var endpoint: Endpoint
  /// Of the handshake.
  package var handshake: Timestamp
  package var gateway: String

  package init(publicKey: WireGuardKey, endpoint: Endpoint, handshake: Timestamp, gateway: String) {
    self.publicKey = publicKey
    self.endpoint = endpoint
    self.handshake = handshake
    self.gateway = gateway
  }
}

/// The endpoints of devices, as a gateway of a pair knows them: its own, which it records in the store, and those that the other one has
/// noted. After a take-over it begins sessions itself, and need not wait for the devices.
package struct EndpointLedger {
  private let gateway: String
  private var known: [WireGuardKey: LastEndpoint] = [:]

  /// A session that goes on is noted again after this time: more often would be a write for each handshake of each device.
  package static let interval = Duration.seconds(600)

  /// `gateway`: this one.
  package init(gateway: String) { self.gateway = gateway }

  /// The endpoints of this gateway's peers that have to be written to the store.
  package func notes(of peers: [WireGuardState.Peer]) -> [LastEndpoint] {
    peers.compactMap { peer in
      // A relayed device has an address of this machine.
      guard let handshake = peer.handshake, let endpoint = peer.endpoint, let address = endpoint.address, !RelayAddress.contains(address)
      else { return nil }
      let note = LastEndpoint(publicKey: peer.publicKey, endpoint: endpoint, handshake: handshake, gateway: gateway)
      guard let last = known[peer.publicKey] else { return note }
      if handshake < last.handshake { return nil }
      let isOld = handshake >= last.handshake + Self.interval
      return last.gateway != gateway && handshake > last.handshake || last.endpoint != endpoint || isOld ? note : nil
    }
  }

  package mutating func learn(_ endpoints: [LastEndpoint]) {
    for endpoint in endpoints where known[endpoint.publicKey].map({ endpoint.handshake >= $0.handshake }) ?? true {
      known[endpoint.publicKey] = endpoint
    }
  }

  /// The endpoints that peers of this gateway should have: the other one's handshake was later.
  package func missing(in peers: [WireGuardState.Peer]) -> [WireGuardKey: Endpoint] {
    var missing: [WireGuardKey: Endpoint] = [:]
    for peer in peers {
      guard let last = known[peer.publicKey], isOther(last, than: peer), last.endpoint != peer.endpoint else { continue }
      missing[peer.publicKey] = last.endpoint
    }
    return missing
  }

  /// The peers that had a session with the other gateway lately, to begin one with: `outdated` have an earlier one here, which the devices
  /// do not use any more.
  package func moved(in peers: [WireGuardState.Peer], at now: Timestamp) -> (all: Set<WireGuardKey>, outdated: Set<WireGuardKey>) {
    let moved = peers.filter { peer in
      // A handshake is at most 3 minutes old in a session.
      known[peer.publicKey].map { isOther($0, than: peer) && $0.handshake > now - Self.interval - .seconds(180) } ?? false
    }
    return (Set(moved.map(\.publicKey)), Set(moved.filter { $0.handshake != nil }.map(\.publicKey)))
  }

  private func isOther(_ last: LastEndpoint, than peer: WireGuardState.Peer) -> Bool {
    last.gateway != gateway && peer.handshake.map { last.handshake > $0 } ?? true
  }
}
