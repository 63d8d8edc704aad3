package import GatewayCore
package import KernelModel
package import NetworkTypes

// Notes of the gateways of a pair for one another. They are neither followed nor announced: each gateway looks every few seconds.
extension GatewayStore {
  /// A gateway that uses the store.
  package struct Partner: Hashable, Sendable {
    package var id: String
    package var publicKey: WireGuardKey
    package var host: String
    /// When it last said so.
    package var seen: Timestamp

    package init(id: String, publicKey: WireGuardKey, host: String, seen: Timestamp) {
      self.id = id
      self.publicKey = publicKey
      self.host = host
      self.seen = seen
    }
  }

  /// The time for which a silent gateway is remembered: 30 days.
  private static let memory = Duration.seconds(30 * 86_400)

  package func record(_ partner: Partner) throws(StoreError) {
    try writing { () throws(StoreError) in
      try engine.run(
        "INSERT INTO partners (id, public_key, host, seen) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO UPDATE SET "
          + "public_key = excluded.public_key, host = excluded.host, seen = excluded.seen",
        [.text(partner.id), .bytes(partner.publicKey.bytes), .text(partner.host), SQLValue(partner.seen)])
      try engine.run("DELETE FROM partners WHERE seen < $1", [SQLValue(partner.seen - Self.memory)])
      try engine.run("DELETE FROM endpoints WHERE handshake < $1", [SQLValue(partner.seen - Self.memory)])
    }
  }

  package func partners() throws(StoreError) -> [Partner] {
    let rows = try reading { () throws(StoreError) in
      try engine.run("SELECT id, public_key, host, seen FROM partners ORDER BY id", [])
    }
    return rows.compactMap { row in
      guard case .text(let id) = row[0], case .bytes(let key) = row[1], case .text(let host) = row[2], case .integer(let seen) = row[3],
        let key = WireGuardKey(bytes: key)
      else { return nil }
      return Partner(id: id, publicKey: key, host: host, seen: Timestamp(seconds: seen))
    }
  }

  /// Writes where devices are connected. An older handshake never replaces a newer one.
  package func record(_ endpoints: [LastEndpoint]) throws(StoreError) {
    if endpoints.isEmpty { return }
    try writing { () throws(StoreError) in
      let version = try (meta("endpoints") ?? 0) + 1
      try setMeta("endpoints", version)
      for endpoint in endpoints {
        try engine.run(
          "INSERT INTO endpoints (public_key, version, endpoint, handshake, gateway) VALUES ($1, $2, $3, $4, $5) "
            + "ON CONFLICT (public_key) DO UPDATE SET version = excluded.version, endpoint = excluded.endpoint, "
            + "handshake = excluded.handshake, gateway = excluded.gateway WHERE excluded.handshake >= endpoints.handshake",
          [
            .bytes(endpoint.publicKey.bytes), .integer(version), .text(endpoint.endpoint.description), SQLValue(endpoint.handshake),
            .text(endpoint.gateway),
          ])
      }
    }
  }

  /// The endpoints that were written after a version, and the present version.
  package func endpoints(after seen: Int64) throws(StoreError) -> (endpoints: [LastEndpoint], version: Int64) {
    try reading { () throws(StoreError) in
      let version = try meta("endpoints") ?? 0
      // A store that was restored counts from an earlier number.
      let seen = version < seen ? 0 : seen
      if version == seen { return ([], version) }
      let rows = try engine.run("SELECT public_key, endpoint, handshake, gateway FROM endpoints WHERE version > $1", [.integer(seen)])
      let found = rows.compactMap { row -> LastEndpoint? in
        guard case .bytes(let key) = row[0], case .text(let endpoint) = row[1], case .integer(let handshake) = row[2],
          case .text(let gateway) = row[3], let key = WireGuardKey(bytes: key), let endpoint = Endpoint(endpoint)
        else { return nil }
        return LastEndpoint(publicKey: key, endpoint: endpoint, handshake: Timestamp(seconds: handshake), gateway: gateway)
      }
      return (found, version)
    }
  }
}
