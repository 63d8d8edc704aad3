import NetworkTypes
import RoamwardCore
import Testing

@testable import LinuxPlatform

/// Facts that the agent reads itself (`FactKind.source`).
@Suite struct FactSourceTests {
  @Test("reading a fact changes this fact and no other", arguments: FactKind.allCases) func read(kind: FactKind) {
    var snapshot = NetworkSnapshot.unread
    snapshot.read([kind])
    let isDirect = if case .direct = kind.source { true } else { false }
    #expect(!isDirect || !kind.isOfLink, "\(kind) belongs to a link")
    #expect((snapshot != .unread) == isDirect)
    snapshot.makeUnknown(kind, reason: Fact<Bool>.notNeededReason)
    #expect(snapshot == .unread)
  }

  @Test("an event has only facts that are read at it") func events() {
    let direct = DirectEvents.allCases.map { $0.facts(of: .all) }
    for (index, facts) in direct.enumerated() {
      #expect(!facts.isEmpty)
      for others in direct[..<index] { #expect(facts.isDisjoint(with: others)) }
    }
  }
}
