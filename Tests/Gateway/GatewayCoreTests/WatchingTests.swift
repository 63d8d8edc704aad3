import GatewayCore
import GatewayLogin
import KernelModel
import Metrics
import NetworkTypes
import TestKit
import TestSupport
import Testing

@Suite("Watching a gateway") struct WatchingTests {
  private static let now: Timestamp = 1_000_000

  /// Alice's laptop and phone, bob's laptop; alice's laptop is connected, her phone was.
  private func status(_ change: (inout WireGuardState, inout Administration) throws -> Void = { _, _ in }) throws -> GatewayStatus {
    var work = Administration(now: Self.now)
    try work.addPool("10.77.0.0/24")
    for user in ["alice", "bob"] { _ = try work.addUser(try name(user)) }
    for (number, device) in ["alice/laptop", "alice/phone", "bob/laptop"].enumerated() {
      _ = try work.addDevice(try path(device), publicKey: try key(UInt64(number) + 2))
    }
    var state = WireGuardState(engine: .kernel)
    state.peers = [
      .init(publicKey: try key(2), endpoint: Endpoint("198.51.100.2:4711"), lastHandshake: Self.now.seconds - 10),
      .init(publicKey: try key(3), endpoint: Endpoint("198.51.100.3:4711"), lastHandshake: Self.now.seconds - 1000),
      .init(publicKey: try key(4)),
    ]
    try change(&state, &work)
    return GatewayStatus(directory: work.directory, isServing: true, device: state, now: Self.now)
  }

  /// All facts that a gateway can have.
  private func facts(_ counts: GatewayCounts) -> GatewayMetrics.Facts {
    var facts = GatewayMetrics.Facts()
    facts.counts = counts
    facts.lastLook = 999_990
    facts.traffic = GatewayMetrics.Traffic(receivedBytes: 7, sentBytes: 8, receivedDropped: 1, sentDropped: 2)
    facts.services = [.logins: true, .relay: false, .page: true]
    facts.forwarding = [.v4: false, .v6: true]
    facts.relayLimit = 400
    facts.lastReading = 999_999
    facts.partners = [999_995, 999_900]
    facts.newestEntry = 12
    return facts
  }

  /// Metrics in which each family has a sample.
  func families() throws -> [MetricFamily] {
    var counts = GatewayCounts(started: 999_000, reasons: LoginRefusal.allCases.map { "\($0)" })
    counts.accept(by: "password", milliseconds: 90)
    counts.accept(by: "password", milliseconds: 40_000)
    counts.accept(by: "password,code", milliseconds: nil)
    counts.refuse("wrongPassword")
    counts.unavailable = 3
    counts.fail(.openID)
    counts.isApplied = false
    let status = try status { state, work in
      try work.setLocked(true, try name("bob"))
      state.peers[0].endpoint = Endpoint("127.83.0.7:4711")
    }
    return GatewayMetrics.families(status, facts(counts), version: "1")
  }

  @Test("the metrics are OpenMetrics, in both formats, and name no person and no address") func metrics() throws {
    let families = try families()
    #expect(families.allSatisfy { !$0.samples.isEmpty })
    let text = MetricsFormat.openMetrics.text(families)
    #expect(openMetricsViolations(in: text) == [])
    for line in [
      "roamward_gateway_up 1", "roamward_gateway_users{state=\"refused\"} 1", "roamward_gateway_devices{state=\"connected\"} 1",
      "roamward_gateway_devices{state=\"away\"} 1", "roamward_gateway_devices{state=\"refused\"} 1",
      "roamward_gateway_leases{pool=\"pool4\",family=\"ipv4\",state=\"leased\"} 3",
      "roamward_gateway_leases{pool=\"pool4\",family=\"ipv4\",state=\"free\"} 250",
      "roamward_gateway_bytes_total{direction=\"sent\"} 8", "roamward_gateway_packets_dropped_total{direction=\"received\"} 1",
      "roamward_gateway_logins_accepted_total{methods=\"password,code\"} 1",
      "roamward_gateway_logins_refused_total{reason=\"wrongPassword\"} 1", "roamward_gateway_logins_unavailable_total 3",
      "roamward_gateway_login_seconds_bucket{le=\"0.05\"} 0", "roamward_gateway_login_seconds_bucket{le=\"0.1\"} 1",
      "roamward_gateway_login_seconds_bucket{le=\"+Inf\"} 2", "roamward_gateway_login_seconds_sum 40.090",
      "roamward_gateway_login_seconds_count 2", "roamward_gateway_store_up 1", "roamward_gateway_start_time_seconds 999000",
      "roamward_gateway_logins_refused_total{reason=\"wrongCode\"} 0", "roamward_gateway_metrics_time_seconds 1000000",
      "roamward_gateway_last_look_seconds 999990", "roamward_gateway_applied 0", "roamward_gateway_forwarding{family=\"ipv4\"} 0",
      "roamward_gateway_service_up{service=\"logins\"} 1", "roamward_gateway_service_up{service=\"relay\"} 0",
      "roamward_gateway_settings_taken 1", "roamward_gateway_relayed_devices 1", "roamward_gateway_relayed_devices_limit 400",
      "roamward_gateway_worker_failures_total{worker=\"openid\"} 1", "roamward_gateway_worker_failures_total{worker=\"page\"} 0",
      "roamward_gateway_partners 2", "roamward_gateway_partner_last_seen_seconds 999900", "roamward_gateway_audit_entries 12",
    ] { #expect(text.contains(line + "\n"), "\(line)") }
    let other = MetricsFormat.prometheus.text(families)
    for word in ["alice", "bob", "laptop", "198.51.100", "10.77"] { #expect(!text.contains(word) && !other.contains(word), "\(word)") }
    // No gateway runs, and nothing was counted.
    var idle = try status()
    idle.isServing = false
    idle.device = nil
    let rest = MetricsFormat.openMetrics.text(GatewayMetrics.families(idle, .init(), version: "1"))
    #expect(openMetricsViolations(in: rest) == [] && rest.contains("roamward_gateway_up 0\n") && !rest.contains("logins"))
    #expect(!rest.contains("applied") && !rest.contains("settings_taken") && !rest.contains("relayed"))
  }

  @Test("a pool without a free address has none, and is shown") func fullPool() throws {
    var work = Administration(now: Self.now)
    try work.addPool("10.77.0.0/29")
    _ = try work.addUser(try name("alice"))
    for number in 0..<5 { _ = try work.addDevice(try path("alice/d\(number)"), publicKey: try key(UInt64(number) + 2)) }
    #expect(work.directory.poolList.first?.hasSuffix("5 leased, 0 held, 0 free") == true)
    let status = GatewayStatus(directory: work.directory, isServing: true, device: nil, now: Self.now)
    let text = MetricsFormat.openMetrics.text(GatewayMetrics.families(status, .init(), version: "1"))
    #expect(text.contains("roamward_gateway_leases{pool=\"pool4\",family=\"ipv4\",state=\"free\"} 0\n"))
  }

  @Test("counts come back from their file as they were; what is no such file is none") func counts() {
    var counts = GatewayCounts(started: 5)
    counts.accept(by: "token", milliseconds: 12)
    counts.refuse("unknownName")
    counts.refuse("unknownName")
    counts.unavailable = 1
    counts.fail(.page)
    counts.isApplied = false
    #expect(GatewayCounts(counts.text) == counts)
    #expect(GatewayCounts(counts.text + "later 1\n") == counts)
    for text in ["", "nonsense", "started -1", "started 1\ndurations 1 2", "started 1\nrefused x y"] { #expect(GatewayCounts(text) == nil) }
  }

  @Test("events are what has changed between two looks") func events() throws {
    let first = try status()
    let laptop = try path("alice/laptop")
    #expect(GatewayEvent.between(nil, first) == [.serving(true), .connected(laptop, from: Endpoint("198.51.100.2:4711"))])
    #expect(GatewayEvent.between(first, first) == [])
    let moved = try status { state, _ in state.peers[0].endpoint = Endpoint("203.0.113.7:9") }
    #expect(GatewayEvent.between(first, moved) == [.moved(laptop, to: try #require(Endpoint("203.0.113.7:9")))])
    var away = try status { state, _ in
      state.peers[0].lastHandshake = Self.now.seconds - 180
      state.peers[2].lastHandshake = Self.now.seconds
    }
    away.isServing = false
    away.away = StoreAbsence(reason: "cannot connect", age: 4)
    #expect(
      GatewayEvent.between(first, away) == [
        .serving(false), .store(away: "cannot connect"), .disconnected(laptop), .connected(try path("bob/laptop"), from: nil),
      ])
    #expect(
      GatewayEvent.between(away, first).map(\.line) == [
        "gateway serving", "store: answers again", "device alice/laptop connected from 198.51.100.2:4711", "device bob/laptop disconnected",
      ])
  }
}
