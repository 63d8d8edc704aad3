internal import KernelModel
package import Metrics
package import NetworkTypes

/// The metrics of a gateway. No label names a person, a device or an address: pools by their names, all else by words of fixed sets.
package enum GatewayMetrics {
  /// Bytes and lost packets of the gateway's link, as the kernel counts them since the link was made.
  package struct Traffic: Hashable, Sendable {
    package var receivedBytes: Int64
    package var sentBytes: Int64
    package var receivedDropped: Int64
    package var sentDropped: Int64

    package init(receivedBytes: Int64, sentBytes: Int64, receivedDropped: Int64, sentDropped: Int64) {
      self.receivedBytes = receivedBytes
      self.sentBytes = sentBytes
      self.receivedDropped = receivedDropped
      self.sentDropped = sentDropped
    }
  }

  /// `counts` and `traffic`: `nil`: there are none.
  package static func families(
    _ status: GatewayStatus, _ counts: GatewayCounts?, _ traffic: Traffic?, lastReading: Timestamp?, version: String
  ) -> [MetricFamily] {
    process(status, counts, version: version) + people(status) + leases(status) + (traffic.map(families) ?? [])
      + store(status, lastReading: lastReading) + (counts.map(logins) ?? [])
  }

  private static func process(_ status: GatewayStatus, _ counts: GatewayCounts?, version: String) -> [MetricFamily] {
    var up = MetricFamily("roamward_gateway_up", .gauge, "Whether a gateway runs.")
    up.add(status.isServing ? 1 : 0)
    var build = MetricFamily("roamward_gateway_build", .info, "The version of Roamward.")
    build.add(1, ["version": version])
    var start = MetricFamily("roamward_gateway_start_time_seconds", .gauge, "Time at which the gateway started.")
    if let counts { start.add(counts.started.seconds) }
    return [up, build, start]
  }

  private static func people(_ status: GatewayStatus) -> [MetricFamily] {
    let directory = status.directory
    var users = MetricFamily("roamward_gateway_users", .gauge, "Users, by whether they may connect.")
    let active = directory.users.values.count { $0.isActive(at: status.now) }
    users.add(Int64(active), ["state": "active"])
    users.add(Int64(directory.users.count - active), ["state": "refused"])
    var devices = MetricFamily("roamward_gateway_devices", .gauge, "Devices, by whether they are connected.")
    var handshake = MetricFamily("roamward_gateway_last_handshake_seconds", .gauge, "Time of the newest handshake with a device.")
    if let device = status.device {
      let peers = Dictionary(device.peers.map { ($0.publicKey, $0) }) { first, _ in first }
      var found: [GatewayStatus.Connection: Int64] = [:]
      for one in directory.devices.values { found[status.connection(of: one, peers[one.publicKey]), default: 0] += 1 }
      for state in [GatewayStatus.Connection.connected, .away, .neverSeen, .ended, .refused] {
        devices.add(found[state] ?? 0, ["state": state.rawValue.split(separator: " ").joined(separator: "_")])
      }
      if let newest = device.peers.compactMap(\.handshake).max() { handshake.add(newest.seconds) }
    }
    var sessions = MetricFamily("roamward_gateway_sessions", .gauge, "Devices that logged in, and are still bound by it.")
    sessions.add(Int64(directory.logins.values.count { $0.ended == nil }))
    return [users, devices, sessions, handshake]
  }

  private static func leases(_ status: GatewayStatus) -> [MetricFamily] {
    var family = MetricFamily(
      "roamward_gateway_leases", .gauge, "Addresses of a pool, by whether a device has them. Those of IPv6 are never all counted.")
    for pool in status.directory.allPools {
      let usage = status.directory.usage(of: pool)
      let labels = (pool: pool.name.description, family: pool.prefix.family == .v4 ? "ipv4" : "ipv6")
      family.add(usage.leased, ["pool": labels.pool, "family": labels.family, "state": "leased"])
      family.add(usage.held, ["pool": labels.pool, "family": labels.family, "state": "held"])
      if let free = usage.free { family.add(free, ["pool": labels.pool, "family": labels.family, "state": "free"]) }
    }
    return [family]
  }

  private static func families(_ traffic: Traffic) -> [MetricFamily] {
    var bytes = MetricFamily("roamward_gateway_bytes", .counter, "Bytes of packets in the tunnels, from devices and to them.")
    bytes.add(traffic.receivedBytes, ["direction": "received"])
    bytes.add(traffic.sentBytes, ["direction": "sent"])
    var dropped = MetricFamily("roamward_gateway_packets_dropped", .counter, "Packets that the kernel dropped at the gateway's link.")
    dropped.add(traffic.receivedDropped, ["direction": "received"])
    dropped.add(traffic.sentDropped, ["direction": "sent"])
    return [bytes, dropped]
  }

  private static func store(_ status: GatewayStatus, lastReading: Timestamp?) -> [MetricFamily] {
    var up = MetricFamily("roamward_gateway_store_up", .gauge, "Whether the store can be read.")
    up.add(status.away == nil ? 1 : 0)
    var reading = MetricFamily(
      "roamward_gateway_store_last_reading_seconds", .gauge, "Time at which the gateway last read a store on a server.")
    if let lastReading { reading.add(lastReading.seconds) }
    return [up, reading]
  }

  private static func logins(_ counts: GatewayCounts) -> [MetricFamily] {
    var accepted = MetricFamily(
      "roamward_gateway_logins_accepted", .counter, "Logins that brought a device its settings, by what proved them.")
    for (methods, count) in counts.accepted.sorted(by: { $0.key < $1.key }) { accepted.add(count, ["methods": methods]) }
    var refused = MetricFamily("roamward_gateway_logins_refused", .counter, "Refused logins, by the reason that the audit log has.")
    for (reason, count) in counts.refused.sorted(by: { $0.key < $1.key }) { refused.add(count, ["reason": reason]) }
    var unavailable = MetricFamily(
      "roamward_gateway_logins_unavailable", .counter, "Logins that could not be judged: the store, or a service that checks, was away.")
    unavailable.add(counts.unavailable)
    var durations = MetricFamily(
      "roamward_gateway_login_seconds", .histogram,
      "From the first check of a login to its settings, where the person was asked nothing else.")
    durations.add(counts.durations)
    return [accepted, refused, unavailable, durations]
  }
}
