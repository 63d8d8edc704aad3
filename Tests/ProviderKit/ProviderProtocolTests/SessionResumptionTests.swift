import NetworkTypes
import ProviderProtocol
import Testing

/// Another agent goes on with a provider that an earlier one has connected.
@Suite("A session that another agent goes on with") struct SessionResumptionTests {
  private static let zero = ProviderSessionTests.zero

  private func resumed(_ session: ProviderSession) throws -> ProviderSession {
    let left = try #require(session.resumption)
    return try #require(ProviderSession(resuming: left, tunnel: "corp", at: Self.zero))
  }

  @Test("can be left while it is connected and neither side owes an answer, and at no other time") func rest() throws {
    #expect(ProviderSession(tunnel: "corp", at: Self.zero).resumption == nil)
    #expect(try ProviderSessionTests.greeted().resumption == nil && ProviderSessionTests.started().resumption == nil)
    let connected = try ProviderSessionTests.connected()
    #expect(connected.resumption != nil)
    for open: ProviderMessage in [
      .settings(id: 2, TunnelSettings()), .openDevice(id: 2), .resolve(id: 2, DomainName("vpn.example")!),
      .ask(id: 2, Question(kind: .confirm, prompt: "?")), .reasserting(code: "server", text: "it is silent"), .stopped,
    ] {
      var session = connected
      _ = try ProviderSessionTests.send(open, &session)
      #expect(session.resumption == nil, "\(open)")
    }
    var session = connected
    let (id, _) = try session.message(.bytes([7]), at: Self.zero)
    #expect(session.resumption == nil)
    _ = try ProviderSessionTests.send(.reply(id: id, .failure(Refusal(code: "unknown-type", text: ""))), &session)
    #expect(session.resumption != nil)
    _ = session.sleep(at: Self.zero)
    #expect(session.resumption == nil)
    _ = try ProviderSessionTests.send(.asleep, &session)
    #expect(session.resumption != nil)
    _ = session.stop(.shutdown, at: Self.zero)
    #expect(session.resumption == nil)
  }

  @Test("acts on everything that the provider may say next as the one before would have") func same() throws {
    var session = try ProviderSessionTests.connected()
    _ = try session.message(.bytes([7]), at: Self.zero)
    // The reply comes after its time.
    _ = session.advance(to: Self.zero + .seconds(5))
    let next: [ProviderMessage] = [
      .settings(id: 1, TunnelSettings()), .settings(id: 2, TunnelSettings(mtu: 1400)), .openDevice(id: 2), .ready, .asleep, .stopped,
      .reasserting(code: "server", text: "it is silent"), .failed(TunnelFailure(code: "server", text: "it is gone", help: .time)),
      .reply(id: 1, .failure(Refusal(code: "late", text: ""))), .reply(id: 2, .failure(Refusal(code: "unknown", text: ""))),
      .ask(id: 2, Question(kind: .confirm, prompt: "?")), .withdraw(id: 1), .hello(versions: 1...1, program: "again"),
    ]
    for first in next {
      for second in next {
        var (before, after) = (session, try resumed(session))
        for message in [first, second] {
          #expect(
            try ProviderSessionTests.send(message, &before) == ProviderSessionTests.send(message, &after), "\(first), \(second)")
          #expect(before.state == after.state && before.nextDeadline == after.nextDeadline)
        }
      }
    }
    var (before, after) = (session, try resumed(session))
    #expect(before.program == after.program)
    #expect(try before.message(.bytes([7]), at: Self.zero).id == after.message(.bytes([7]), at: Self.zero).id)
    #expect(try before.networkChanged(nil) == after.networkChanged(nil) && before.wake() == after.wake())
    #expect(before.stop(.shutdown, at: Self.zero) == after.stop(.shutdown, at: Self.zero) && before.state == after.state)
  }

  @Test("is none of a version that this agent does not speak") func version() throws {
    var left = try #require(try ProviderSessionTests.connected().resumption)
    left.version += 1
    #expect(ProviderSession(resuming: left, tunnel: "corp", at: Self.zero) == nil)
  }
}
