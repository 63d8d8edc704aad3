import NetworkTypes
import Testing

@testable import NameServer

/// Answers for routed names, which wait until the agent has routed their addresses.
@Suite struct RoutedNameTests {
  /// `shop.example` is routed.
  private func lab() -> Lab {
    let lab = Lab()
    var configuration = Lab.configuration(corp: .connectAlways(trigger: 0))
    if let name = DomainName("shop.example") { configuration.routed.add(name, 0) }
    lab.configure(configuration)
    return lab
  }

  private func requested(_ lab: Lab) -> [(number: UInt32, name: String, addresses: [IPAddress], ttl: UInt32)] {
    lab.requests.compactMap { request in
      if case .route(let number, let name, let addresses, let ttl) = request { (number, name, addresses, ttl) } else { nil }
    }
  }

  private func setRouted(_ lab: Lab, _ isRouted: Bool, _ number: UInt32) {
    lab.drive { machine, _, out in machine.setRouted(isRouted, of: number, &out) }
  }

  @Test("an answer waits for its routes, all who asked get it then, and one from the cache waits again") func waits() throws {
    let lab = lab()
    lab.ask("WWW.shop.example", id: 1)
    lab.ask("www.shop.example", id: 2, from: Lab.client(40_001))
    lab.answer([Messages.a("203.0.113.7", ttl: 60), Messages.a("203.0.113.8", ttl: 90)])
    #expect(lab.replies.isEmpty)
    let request = try #require(requested(lab).first)
    #expect(
      request.name == "www.shop.example" && request.ttl == 60 && request.addresses.map(\.description) == ["203.0.113.7", "203.0.113.8"])
    setRouted(lab, true, request.number)
    #expect(lab.readings.map(\.addresses) == [["203.0.113.7", "203.0.113.8"], ["203.0.113.7", "203.0.113.8"]])
    lab.clear()
    lab.pass(.seconds(10))
    lab.ask("www.shop.example")
    #expect(lab.datagrams.isEmpty && lab.replies.isEmpty && requested(lab).map(\.ttl) == [50])
    setRouted(lab, true, requested(lab)[0].number)
    #expect(lab.readings.map(\.addresses.count) == [2] && lab.counters.cached == 1)
    lab.clear()
    lab.ask("www.other.example")
    lab.answer([Messages.a("203.0.113.9")])
    #expect(lab.readings.map(\.addresses) == [["203.0.113.9"]] && requested(lab).isEmpty)
  }

  @Test("without its routes an answer is a failure: at the agent's word, after two seconds, or when too many wait") func fails() throws {
    let lab = lab()
    lab.ask("a.shop.example")
    lab.answer()
    setRouted(lab, false, requested(lab)[0].number)
    #expect(lab.readings.map(\.code) == [2] && lab.readings.map(\.reason) == [14])
    lab.clear()
    lab.ask("b.shop.example")
    lab.answer()
    lab.pass(.milliseconds(1999))
    #expect(lab.replies.isEmpty)
    lab.pass(.milliseconds(2))
    #expect(lab.readings.map(\.code) == [2])
    // A word that comes too late, or was never asked for, has no effect.
    setRouted(lab, true, requested(lab)[0].number)
    setRouted(lab, true, 77)
    #expect(lab.replies.count == 1)
  }

  @Test("every address of the answer section is routed, whatever its owner; without one the answer need not wait") func chain() throws {
    let lab = lab()
    lab.ask("www.shop.example")
    let target = Messages.name("edge.cdn.example")
    let other = Messages.name("ads.example")
    lab.answer([
      Messages.record(1, [203, 0, 113, 99], name: other), Messages.record(5, target),
      Messages.record(1, [203, 0, 113, 7], name: Messages.name("EDGE.cdn.example")), Messages.record(16, [1, 65]),
    ])
    #expect(try #require(requested(lab).first).addresses.map(\.description) == ["203.0.113.99", "203.0.113.7"])
    // An alias of itself, and one that leads nowhere, give no address: the answer need not wait.
    for records in [[Messages.record(5, Messages.name("loop.shop.example"))], [Messages.record(5, target)], []] {
      lab.clear()
      lab.ask("loop.shop.example", id: 7)
      lab.answer(records)
      #expect(lab.replies.count == 1 && requested(lab).isEmpty)
    }
    lab.clear()
    lab.ask("six.shop.example", type: 28)
    lab.answer([Messages.record(28, [UInt8](repeating: 0x20, count: 16))])
    #expect(requested(lab).first?.addresses.first?.family == .v6)
  }

  @Test(
    "what programs may read is routed: behind many aliases, with an extended code, IPv4 inside IPv6; of too many addresses none is given")
  func all() {
    let lab = lab()
    let aliases = (0..<20).map { Messages.record(5, Messages.name("a\($0 + 1).example"), name: Messages.name("a\($0).example")) }
    lab.ask("www.shop.example")
    lab.answer(aliases + [Messages.record(1, [203, 0, 113, 7], name: Messages.name("a20.example"))])
    #expect(requested(lab).first?.addresses.map(\.description) == ["203.0.113.7"] && lab.replies.isEmpty)
    lab.clear()
    lab.ask("six.shop.example", type: 28)
    lab.answer([Messages.record(28, [UInt8](repeating: 0, count: 10) + [255, 255, 203, 0, 113, 7])])
    #expect(requested(lab).first?.addresses.map(\.description) == ["203.0.113.7"])
    lab.clear()
    lab.ask("many.shop.example")
    lab.answer((0..<65).map { Messages.a("203.0.113.\($0)") })
    #expect(lab.readings.map(\.code) == [2] && requested(lab).isEmpty)
  }

  @Test("HTTPS and SVCB questions for routed names get no records, and no server gets them") func hints() {
    let lab = lab()
    for type in [64, 65] { lab.ask("www.shop.example", type: type) }
    #expect(lab.datagrams.isEmpty && lab.readings.map(\.code) == [0, 0] && lab.readings.allSatisfy(\.addresses.isEmpty))
    lab.ask("www.other.example", type: 65)
    #expect(lab.datagrams.count == 1)
  }

  @Test("an address of a routed name and of another one is reported once, whichever was asked for first", arguments: [true, false])
  func shared(isRoutedFirst: Bool) {
    let lab = lab()
    for name in isRoutedFirst ? ["www.shop.example", "www.other.example"] : ["www.other.example", "www.shop.example"] {
      lab.ask(name)
      lab.answer([Messages.a("203.0.113.7")])
    }
    lab.ask("more.other.example")
    lab.answer([Messages.a("203.0.113.7")])
    let shared = lab.requests.filter { if case .shared = $0 { true } else { false } }
    #expect(shared == [.shared(address: IPAddress("203.0.113.7")!, name: "www.shop.example", other: "www.other.example")])
    // The agent has to know the address before.
    let kinds = lab.requests.map { if case .shared = $0 { "shared" } else { "route" } }
    #expect(kinds == ["route", "shared"])
  }

  @Test("arbitrary answers give no more addresses than they have room for") func arbitrary() {
    var random = 1 as UInt64
    let valid = Messages.answer(
      to: Messages.question("www.shop.example"),
      [Messages.record(5, Messages.name("x.example")), Messages.record(1, [1, 2, 3, 4], name: Messages.name("x.example"))])
    for _ in 0..<20_000 {
      var message = valid
      for _ in 0..<3 {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        message[Int(random >> 33) % message.count] = UInt8(truncatingIfNeeded: random >> 20)
      }
      if let outline = AnswerOutline(message.span) {
        #expect(AnswerAddressList.addresses(message.span, outline).count <= message.count / 14)
      }
    }
  }
}
