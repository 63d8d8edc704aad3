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

  /// A service that a gateway offers where it is enabled.
  package enum Service: String, Hashable, Sendable, CaseIterable {
    /// Logins at the port of the endpoint.
    case logins
    /// Relays for clients whose networks let no UDP pass.
    case relay
    /// The page inside the tunnel.
    case page
  }

  /// The facts beside the status, as far as they are known.
  package struct Facts: Sendable {
    /// `nil`: no gateway runs.
    package var counts: GatewayCounts?
    /// The time at which the gateway last compared the machine with the store.
    package var lastLook: Timestamp?
    /// `nil`: there is no link.
    package var traffic: Traffic?
    /// Whether the gateway offers each service that is enabled.
    package var services: [Service: Bool] = [:]
    /// Whether the kernel forwards packets of each family that the pools have.
    package var forwarding: [IPAddress.Family: Bool] = [:]
    /// The most devices that are connected by relays at once; `nil`: there are no relays.
    package var relayLimit: Int64?
    /// The time at which a gateway last read a store on a server.
    package var lastReading: Timestamp?
    /// When each other gateway with the same key said that it is there; `nil`: the store is a file, or away.
    package var partners: [Timestamp]?
    /// The number of the newest entry of the audit log; `nil`: the store is away.
    package var newestEntry: Int64?

    package init() {}
  }

  package static func families(_ status: GatewayStatus, _ facts: Facts, version: String) -> [MetricFamily] {
    process(status, facts, version: version) + people(status) + leases(status) + (facts.traffic.map(families) ?? [])
      + machine(status, facts) + store(status, facts) + services(status, facts) + (facts.counts.map(logins) ?? [])
  }

  private static func process(_ status: GatewayStatus, _ facts: Facts, version: String) -> [MetricFamily] {
    var up = MetricFamily("roamward_gateway_up", .gauge, "Whether a gateway runs.")
    up.add(status.isServing ? 1 : 0)
    var build = MetricFamily("roamward_gateway_build", .info, "The version of Roamward.")
    build.add(1, ["version": version])
    var time = MetricFamily("roamward_gateway_metrics_time_seconds", .gauge, "Time at which these metrics were read.")
    time.add(status.now.seconds)
    var start = MetricFamily("roamward_gateway_start_time_seconds", .gauge, "Time at which the gateway started.")
    if let counts = facts.counts { start.add(counts.started.seconds) }
    return [up, build, time, start]
  }

  private static func machine(_ status: GatewayStatus, _ facts: Facts) -> [MetricFamily] {
    var look = MetricFamily(
      "roamward_gateway_last_look_seconds", .gauge, "Time at which the gateway last compared the machine with the store.")
    if let last = facts.lastLook { look.add(last.seconds) }
    var applied = MetricFamily(
      "roamward_gateway_applied", .gauge, "Whether link, routes, firewall and forwarding were as the store says at the last look.")
    if let counts = facts.counts { applied.add(counts.isApplied ? 1 : 0) }
    var forwarding = MetricFamily("roamward_gateway_forwarding", .gauge, "Whether the kernel forwards packets of a family.")
    for family in IPAddress.Family.allCases {
      if let isOn = facts.forwarding[family] { forwarding.add(isOn ? 1 : 0, ["family": word(family)]) }
    }
    return [look, applied, forwarding]
  }

  private static func services(_ status: GatewayStatus, _ facts: Facts) -> [MetricFamily] {
    var up = MetricFamily("roamward_gateway_service_up", .gauge, "Whether the gateway offers a service that is enabled.")
    for service in Service.allCases {
      if let isUp = facts.services[service] { up.add(isUp ? 1 : 0, ["service": service.rawValue]) }
    }
    var settings = MetricFamily(
      "roamward_gateway_settings_taken", .gauge, "Whether the running gateway uses the store and the settings that commands show.")
    if status.isServing { settings.add(status.unserved == nil ? 1 : 0) }
    var relayed = MetricFamily("roamward_gateway_relayed_devices", .gauge, "Devices that are connected by TCP.")
    var limit = MetricFamily("roamward_gateway_relayed_devices_limit", .gauge, "The most devices that can be connected by TCP at once.")
    if let most = facts.relayLimit {
      relayed.add(Int64(status.relayedCount))
      limit.add(most)
    }
    var failures = MetricFamily(
      "roamward_gateway_worker_failures", .counter, "Failures of the gateway's processes, each of which is started again.")
    if let counts = facts.counts {
      for worker in GatewayCounts.Worker.allCases { failures.add(counts.failures[worker] ?? 0, ["worker": worker.rawValue]) }
    }
    return [up, settings, relayed, limit, failures]
  }

  private static func word(_ family: IPAddress.Family) -> String { family == .v4 ? "ipv4" : "ipv6" }

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
      let labels = (pool: pool.name.description, family: word(pool.prefix.family))
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

  private static func store(_ status: GatewayStatus, _ facts: Facts) -> [MetricFamily] {
    var up = MetricFamily("roamward_gateway_store_up", .gauge, "Whether the store can be read.")
    up.add(status.away == nil ? 1 : 0)
    var reading = MetricFamily(
      "roamward_gateway_store_last_reading_seconds", .gauge, "Time at which the gateway last read a store on a server.")
    if let last = facts.lastReading { reading.add(last.seconds) }
    var partners = MetricFamily("roamward_gateway_partners", .gauge, "Other gateways with the same key that were there within a day.")
    var seen = MetricFamily(
      "roamward_gateway_partner_last_seen_seconds", .gauge, "Time at which such a gateway was last there: the earliest of all.")
    if let times = facts.partners {
      partners.add(Int64(times.count))
      if let earliest = times.min() { seen.add(earliest.seconds) }
    }
    var entries = MetricFamily("roamward_gateway_audit_entries", .gauge, "The number of the newest entry of the audit log.")
    if let newest = facts.newestEntry { entries.add(newest) }
    return [up, reading, partners, seen, entries]
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
