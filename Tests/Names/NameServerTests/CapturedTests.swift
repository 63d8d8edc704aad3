import NetworkTypes
import Testing

@testable import NameServer

private struct Missing: Error {}

/// Captured questions: to names of no tunnel the server answers that the program asked.
@Suite("Captured questions") struct CapturedTests {
  private static let asked = Upstream(IPAddress(v4: 0x0909_0909))

  private func lab(_ corp: Disposition = .connectAlways(trigger: 0), blocked: Bool = false) -> Lab {
    let lab = Lab(corp: corp, blocked: blocked)
    var configuration = Lab.configuration(corp: corp, blocked: blocked)
    configuration.groups.append(UpstreamGroup(servers: [], pool: 0, blocked: configuration.groups[0].blocked))
    configuration.passing = Passing(from: 0, by: 2)
    #expect(lab.configure(configuration) == nil)
    lab.clear()
    return lab
  }

  private static func client(_ port: UInt16 = 40_000, transport: Client.Transport = .datagram) -> Client {
    Client(listener: 1000, address: IPAddress(v4: 0xc633_6417), port: port, transport: transport, isLocal: true, asked: .captured)
  }

  private func number(_ lab: Lab) throws -> UInt32 {
    for case .origin(let number, _) in lab.requests.reversed() { return number }
    throw Missing()
  }

  @Test("the agent is asked for the server; then that one alone is asked, and its answers are kept apart") func passing() throws {
    let lab = lab()
    lab.ask("www.example", from: Self.client())
    #expect(lab.datagrams.isEmpty)
    guard case .origin(_, let client)? = lab.requests.first else { throw Missing() }
    #expect(client == Self.client())
    lab.setOrigin(Self.asked, of: try number(lab))
    #expect(lab.datagrams.map(\.datagram.address) == [Self.asked.address])
    lab.answer([Messages.a("203.0.113.7")])
    #expect(lab.readings.first?.addresses == ["203.0.113.7"])
    lab.clear()
    // From the cache, once the server is known; the network's servers are another matter.
    lab.ask("www.example", from: Self.client(40_001))
    #expect(lab.replies.isEmpty)
    lab.setOrigin(Self.asked, of: try number(lab))
    #expect(lab.readings.first?.addresses == ["203.0.113.7"] && lab.datagrams.isEmpty && lab.counters.cached == 1)
    lab.ask("www.example")
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.underlay.address])
  }

  @Test("a retry goes to the same server, and no other") func retries() throws {
    let lab = lab()
    lab.ask("www.example", from: Self.client())
    lab.setOrigin(Self.asked, of: try number(lab))
    lab.pass(.seconds(6))
    #expect(Set(lab.datagrams.map(\.datagram.address)) == [Self.asked.address] && lab.readings.map(\.code) == [2])
  }

  @Test("one of the network's own servers counts as the network's, with all others") func networkServer() throws {
    let lab = lab()
    lab.ask("www.example", from: Self.client())
    lab.setOrigin(Lab.underlay, of: try number(lab))
    lab.answer()
    lab.clear()
    lab.ask("www.example")
    #expect(lab.readings.count == 1 && lab.datagrams.isEmpty)
  }

  @Test("names of a tunnel do not depend on the server: they are held, forwarded and refused as any others") func tunnelNames() {
    let lab = lab()
    lab.ask("wiki.corp.example", from: Self.client())
    lab.ask("refused.example", from: Self.client(40_001))
    #expect(lab.machine.held == 1 && lab.readings.map(\.code) == [2] && lab.datagrams.isEmpty)
    lab.set(.connected)
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.inside.address])
    #expect(!lab.requests.contains { if case .origin = $0 { true } else { false } })
  }

  @Test("an agent that does not know the server, or does not answer, leaves the question to the network's") func unknown() throws {
    let lab = lab()
    lab.ask("a.example", from: Self.client())
    lab.setOrigin(nil, of: try number(lab))
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.underlay.address])
    lab.ask("b.example", from: Self.client(40_001))
    lab.pass(.milliseconds(499))
    #expect(lab.datagrams.count == 1)
    lab.pass(.milliseconds(1))
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.underlay.address, Lab.underlay.address])
    // Late, and for a question that is not open any more.
    lab.setOrigin(Self.asked, of: try number(lab))
    lab.setOrigin(Self.asked, of: 77)
    #expect(lab.datagrams.count == 2)
  }

  @Test("512 questions wait at most; a configuration in between loses none") func bounds() throws {
    let lab = lab()
    for i in 0..<600 { lab.ask("n\(i).example", from: Self.client(UInt16(10_000 + i))) }
    #expect(lab.requests.count == 512 && lab.readings.count { $0.code == 2 } == 88 && lab.machine.open == 512)
    var configuration = Lab.configuration(corp: .refuse)
    configuration.groups.append(UpstreamGroup(servers: [], pool: 0))
    configuration.passing = Passing(from: 0, by: 2)
    lab.configure(configuration)
    // They are asked for anew, by new numbers.
    #expect(lab.requests.count == 1024 && lab.machine.open == 512)
    for case .origin(let number, _) in lab.requests[512...] { lab.setOrigin(Self.asked, of: number) }
    #expect(lab.datagrams.count == 512 && lab.machine.open == 512)
    lab.pass(.seconds(6))
    #expect(lab.replies.count == 600 && lab.machine.open == 0 && lab.machine.nextDeadline == nil)
  }

  @Test("addresses inside of tunnels are withheld from answers of any server outside") func lies() throws {
    let lab = lab(blocked: true)
    lab.ask("www.example", from: Self.client())
    lab.setOrigin(Self.asked, of: try number(lab))
    lab.answer([Messages.a("10.77.0.9")])
    #expect(lab.readings.map(\.code) == [2] && lab.counters.blocked == 1)
  }

  @Test("the answer of another server than the asked one does not count") func spoofed() throws {
    let lab = lab()
    lab.ask("www.example", from: Self.client())
    lab.setOrigin(Self.asked, of: try number(lab))
    let sent = try #require(lab.datagrams.first)
    lab.receive(Messages.answer(to: sent.message, [Messages.a("192.0.2.66")]), at: sent.datagram.socket, from: Lab.underlay)
    #expect(lab.replies.isEmpty && lab.counters.strayAnswers == 1)
  }

  @Test("a truncated answer is asked for over TCP, of the same server") func truncated() throws {
    let lab = lab()
    lab.ask("www.example", from: Self.client())
    lab.setOrigin(Self.asked, of: try number(lab))
    let sent = try #require(lab.datagrams.first)
    var answer = Messages.answer(to: sent.message, [])
    answer[2] |= 0x02
    lab.deliver(answer, to: sent.datagram)
    let address = lab.requests.compactMap { if case .openStream(_, _, let address, _, _) = $0 { address } else { nil } }
    #expect(address == [Self.asked.address])
  }
}

extension Lab {
  fileprivate func setOrigin(_ server: Upstream?, of number: UInt32) { drive { $0.setOrigin(server, of: number, at: $1, &$2) } }
}
