import HostServices
import KernelModel
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import Testing

@Suite("The bus", .enabled(if: PrivateBus.isPossible, "dbus-daemon is not installed"), .serialized)
struct HostServicesTests {
  private static let link = InterfaceIndex(2).map { [Link(index: $0, name: "eth0")] } ?? []

  private static func servers(_ host: HostServices) -> [String]? {
    guard case .value(let links) = host.reports(about: link, resolvConf: .unavailable(reason: "")).resolved else { return nil }
    return links[2]?.servers.map(\.description) ?? []
  }

  /// Looks again after each change until `isDone` says so.
  private static func follow(_ bus: PrivateBus, _ body: (EventLoop) throws -> Void, until isDone: @escaping (HostServices) -> Bool) throws {
    weak var host: HostServices?
    let _: Bool = try onLoop { loop, done in
      let services = HostServices(on: loop, busAddress: bus.address) { _ in if let host, isDone(host) { done(true) } }
      host = services
      try body(loop)
      services.need([.dnsServers])
      return services
    }
  }

  @Test("is asked, and a signal brings the change") func signals() throws {
    let bus = try PrivateBus()
    try bus.start()
    var double: ResolvedDouble?
    var seen: [[String]?] = []
    try Self.follow(bus) { loop in
      double = try ResolvedDouble(on: bus.address, loop: loop, servers: [[192, 0, 2, 1]], domain: "cafe.example")
    } until: { host in
      seen.append(Self.servers(host))
      if seen.last == ["192.0.2.1"] {
        double?.servers = [[192, 0, 2, 2]]
        for _ in 1...50 { double?.announce() }
      }
      return seen.last == ["192.0.2.2"]
    }
    #expect(seen.compactMap { $0 } == [["192.0.2.1"], ["192.0.2.2"]])
    #expect((double?.calls ?? 0) <= 5, "fifty signals are one or two questions: \(double?.calls ?? 0)")
  }

  @Test("a bus that is not there is no error, and is found when it comes") func late() throws {
    let bus = try PrivateBus()
    var double: ResolvedDouble?
    var timers: [EventSource] = []
    var absence: String?
    try Self.follow(bus) { loop in
      timers.append(
        try loop.at(.now + .milliseconds(200)) {
          try? bus.start()
          double = try? ResolvedDouble(on: bus.address, loop: loop, servers: [[192, 0, 2, 1]], domain: "cafe.example")
        })
    } until: { host in
      if case .unavailable(let reason) = host.reports(about: [], resolvConf: .unavailable(reason: "")).resolved, absence == nil {
        absence = reason
      }
      return Self.servers(host) == ["192.0.2.1"]
    }
    #expect(double != nil)
    withExtendedLifetime(timers) {}
  }

  @Test("a bus that is restarted is connected to again, and what it said before is forgotten meanwhile") func restart() throws {
    let bus = try PrivateBus()
    try bus.start()
    var double: ResolvedDouble?
    var loopOfTest: EventLoop?
    var seen: [[String]?] = []
    var timer: EventSource?
    try Self.follow(bus) { loop in
      loopOfTest = loop
      double = try ResolvedDouble(on: bus.address, loop: loop, servers: [[192, 0, 2, 1]], domain: "cafe.example")
    } until: { host in
      let now = Self.servers(host)
      if now != seen.last, now != nil || !seen.isEmpty { seen.append(now) }
      if seen == [["192.0.2.1"]], let loop = loopOfTest {
        timer = try? loop.at(.now + .milliseconds(20)) {
          double = nil
          bus.stop()
          try? bus.start()
          double = try? ResolvedDouble(on: bus.address, loop: loop, servers: [[192, 0, 2, 9]], domain: "cafe.example")
        }
      }
      return now == ["192.0.2.9"]
    }
    withExtendedLifetime((timer, double)) {}
    #expect(seen == [["192.0.2.1"], nil, ["192.0.2.9"]])
  }

  @Test("a service that does not answer is given up after two seconds, and asked again") func deaf() throws {
    let bus = try PrivateBus()
    try bus.start()
    var double: ResolvedDouble?
    var reasons: [String] = []
    try Self.follow(bus) { loop in
      double = try ResolvedDouble(on: bus.address, loop: loop, servers: [[192, 0, 2, 1]], domain: "cafe.example")
      double?.isDeaf = true
    } until: { host in
      if case .unavailable(let reason) = host.reports(about: [], resolvConf: .unavailable(reason: "")).resolved {
        reasons.append(reason)
        double?.isDeaf = false
      }
      return Self.servers(host) == ["192.0.2.1"]
    }
    #expect(reasons.contains { $0.contains("did not answer in time") }, "\(reasons)")
  }

  @Test("who is not needed is not asked") func frugal() throws {
    let bus = try PrivateBus()
    try bus.start()
    let calls: Int = try onLoop { loop, done in
      let double = try ResolvedDouble(on: bus.address, loop: loop, servers: [], domain: "cafe.example")
      let host = HostServices(on: loop, busAddress: bus.address)
      host.need([.type, .ssid, .gatewayMAC, .time, .power, .bssid])
      let first = try loop.at(.now + .milliseconds(200)) {
        let before = double.calls
        // The manager alone knows that.
        host.need([.metered])
        _ = host.isSettled
        if before > 0 { done(before) }
      }
      let second = try loop.at(.now + .milliseconds(500)) { done(double.calls) }
      return [double, host, first, second] as [AnyObject]
    }
    #expect(calls == 0)
  }
}
