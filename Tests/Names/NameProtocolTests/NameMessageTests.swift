import NameProtocol
import NameServer
import NetworkTypes
import SeededRandom
import Testing

@Suite("Messages of the name server's process") struct NameMessageTests {
  static let configuration = NameServerConfiguration(
    network: .max - 7,
    groups: [
      UpstreamGroup(
        servers: [Upstream(IPAddress(v4: 0xc000_0201)), Upstream(IPAddress(family: .v6, high: 0x2001_0db8_0000_0000, low: 1), port: 5353)],
        pool: 3, longestTTL: 60, blocked: [.everything(.v6), .host(IPAddress(v4: 1))]), UpstreamGroup(servers: [], pool: 0),
    ], triggers: [Trigger(name: "corp \"one\"", group: 1)],
    dispositions: [.connectAlways(trigger: 0), .connectIfNeeded(trigger: 0, first: 1), .forward(group: 0), .refuse],
    rest: .forward(group: 0), answersCanary: true, searchDomains: [DomainName("cafe.example")].compactMap { $0 })

  static let orders: [NameOrder] = [
    .listener(number: 1, address: AddressText(IPAddress(v4: 0x7f52_0035)), isStream: true, askers: .led), .upstream(number: .max),
    .close(number: 0),
    .pool(number: 1, v4: [1, 2, 3], v6: []), .rules(NameRules(configuration)),
    .domains(disposition: 2, names: ["corp.example", "xn--bcher-kva.example"]), .rebindAllowed(names: ["home.example"]),
    .routedDomains(names: ["shop.example"]), .apply,
    .routed(number: 3, isRouted: true), .routed(number: .max, isRouted: false),
    .state(trigger: 0, state: .connected),
    .state(trigger: 7, state: .failed), .stream(number: .max, trouble: nil), .stream(number: 1, trouble: "connect: \u{7}no \"way\""),
    .count,
  ]

  static let reports: [NameReport] = [
    .hello(trouble: nil), .hello(trouble: "confine system calls: Invalid argument"),
    .start(
      trigger: 0, name: "git.corp.example", type: 28, listener: 1, address: AddressText(IPAddress(v4: 0x7f00_0001)), port: 40_000,
      isStream: false),
    .stream(number: 5, pool: 2, address: AddressText(IPAddress(family: .v6, high: 1, low: 2)), port: 53), .applied(fault: nil),
    .applied(fault: "there is no group 1"),
    .withheld(count: 3, name: "nas.home.example", address: AddressText(IPAddress(v4: 0x0a4d_0002))),
    .answered(
      number: 3, name: "www.shop.example", addresses: [AddressText(IPAddress(v4: 0xcb00_7107)), AddressText(.unspecified(.v6))], ttl: .max),
    .shared(address: AddressText(IPAddress(v4: 0xcb00_7107)), name: "www.shop.example", other: "www.other.example"),
    .counters(NameServerCounters(), held: 1, open: 2, cacheBytes: 3, ruleBytes: 4),
  ]

  @Test("each is read as it was written", arguments: orders)
  func orderRoundTrip(order: NameOrder) throws { #expect(try NameOrder(order.bytes) == order) }

  @Test("each of the program's is read as it was written", arguments: reports)
  func reportRoundTrip(report: NameReport) throws { #expect(try NameReport(report.bytes) == report) }

  @Test("a configuration arrives as it was sent") func configurationRoundTrip() throws {
    guard case .rules(let rules) = try NameOrder(NameOrder.rules(NameRules(Self.configuration)).bytes) else {
      Issue.record("no rules")
      return
    }
    let read = rules.configuration(DomainMap())
    #expect(read.network == Self.configuration.network && read.groups == Self.configuration.groups)
    #expect(read.triggers == Self.configuration.triggers && read.dispositions == Self.configuration.dispositions)
    #expect(read.rest == Self.configuration.rest && read.answersCanary)
    #expect(!read.searchDomains.isEmpty && read.searchDomains == Self.configuration.searchDomains)
  }

  @Test("the longest domains of one message fit in it") func longest() throws {
    let name = String(repeating: "abcdefg.", count: 31) + "abcde"
    #expect(name.utf8.count == 253)
    let order = NameOrder.domains(disposition: .max, names: Array(repeating: name, count: NameLimits.domains))
    #expect(order.bytes.count < 65_536)
  }

  @Test("no bytes stop the reader, and what it takes is what it would write") func mutated() {
    var random = SplitMix64(seed: 26)
    let corpus = Self.orders.map(\.bytes) + Self.reports.map(\.bytes)
    for _ in 0..<20_000 {
      var bytes = random.pick(corpus)
      for _ in 0...(random.next() % 4) where !bytes.isEmpty {
        let place = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[place] ^= 1 << UInt8(random.next() % 8)
        case 1: bytes.removeSubrange(place..<min(bytes.count, place + 4))
        default: bytes.insert(contentsOf: random.pick(corpus).prefix(8), at: place)
        }
      }
      if let order = try? NameOrder(bytes) { #expect((try? NameOrder(order.bytes)) == order) }
      if let report = try? NameReport(bytes) { #expect((try? NameReport(report.bytes)) == report) }
    }
  }

  @Test("another version is refused") func version() {
    #expect(throws: NameMessageError.self) { try NameOrder(Array(#"{"version":1,"message":{"apply":{}}}"#.utf8)) }
    #expect(throws: NameMessageError.self) { try NameOrder([]) }
  }
}
