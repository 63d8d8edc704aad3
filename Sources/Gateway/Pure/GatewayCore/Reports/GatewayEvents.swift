internal import KernelModel
package import NetworkTypes

/// A change at a gateway between two looks, for `roamward-gateway monitor`.
package enum GatewayEvent: Hashable, Sendable {
  case serving(Bool)
  /// The store's server is away, and why; `nil`: it is back.
  case store(away: String?)
  case connected(DevicePath, from: Endpoint?)
  /// There was no handshake for as long as a session lives.
  case disconnected(DevicePath)
  /// A connected device sends from elsewhere.
  case moved(DevicePath, to: Endpoint)
  case audit(AuditEntry)

  /// In the order in which they are told. `earlier`: `nil`: what is there now is told.
  package static func between(_ earlier: GatewayStatus?, _ now: GatewayStatus) -> [GatewayEvent] {
    var events: [GatewayEvent] = []
    if earlier?.isServing != now.isServing { events.append(.serving(now.isServing)) }
    if earlier?.away?.reason != now.away?.reason, earlier != nil || now.away != nil { events.append(.store(away: now.away?.reason)) }
    let (before, after) = (earlier?.connections ?? [:], now.connections)
    for path in Set(before.keys).union(after.keys).sorted() {
      switch (before[path], after[path]) {
      case (nil, let present?): events.append(.connected(path, from: present))
      case (_?, nil): events.append(.disconnected(path))
      case (let past?, let present?): if let present, past != present { events.append(.moved(path, to: present)) }
      case (nil, nil): break
      }
    }
    return events
  }

  /// Without the time.
  package var line: String {
    switch self {
    case .serving(let isServing): isServing ? "gateway serving" : "gateway not serving"
    case .store(let reason?): reason.hasPrefix("store") ? reason : "store: \(reason)"
    case .store(nil): "store: answers again"
    case .connected(let path, let endpoint): "device \(path) connected" + (endpoint.map { " from \($0)" } ?? "")
    case .disconnected(let path): "device \(path) disconnected"
    case .moved(let path, let endpoint): "device \(path) moved to \(endpoint)"
    case .audit(let entry):
      "\(entry.record.actor) \(entry.record.verb) \(entry.record.object)" + (entry.record.detail.isEmpty ? "" : " (\(entry.record.detail))")
    }
  }
}

extension GatewayStatus {
  /// The connected devices with their endpoints; `nil`: the relay carries it.
  fileprivate var connections: [DevicePath: Endpoint?] {
    let peers = Dictionary((device?.peers ?? []).map { ($0.publicKey, $0) }) { first, _ in first }
    var found: [DevicePath: Endpoint?] = [:]
    for one in directory.devices.values {
      guard let peer = peers[one.publicKey], connection(of: one, peer) == .connected, let path = directory.path(of: one) else { continue }
      found[path] = .some(peer.isRelayed ? nil : peer.endpoint)
    }
    return found
  }
}
