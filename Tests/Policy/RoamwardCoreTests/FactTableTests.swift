import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// Every fact and every key stands in the table once, and works by what the table says of it.
@Suite struct FactTableTests {
  @Test("each kind of fact is declared once, and each key of a match has a name of its own") func complete() {
    #expect(FactTable.all.compactMap(\.kind).count == FactKind.allCases.count)
    #expect(Set(FactTable.all.compactMap(\.kind)) == .all)
    #expect(Set(FactTable.all.map(\.key)).count == FactTable.all.count)
    #expect(Set(FactTable.keys.map(\.name)).count == FactTable.keys.count)
    for kind in FactKind.allCases {
      #expect(kind.declaration.kind == kind && kind.declaration.key == kind.rawValue, "\(kind)")
      #expect(FactTable.keys.contains { $0.kind == kind }, "no key of a match asks for \(kind.rawValue)")
    }
    for key in FactTable.keys {
      #expect(key.fact.map { FactTable.fact($0)?.kind == key.kind } ?? true, "\(key.name)")
    }
  }

  @Test("what nobody has read is unknown, not a value: every fact of the machine, with no source at all") func unread() {
    for kind in FactKind.allCases where !kind.isOfLink {
      #expect(NetworkSnapshot.unread.value(of: kind.declaration, link: 0).value == nil, "\(kind)")
      let snapshot = SnapshotWithSources(SnapshotInputs(kernel: KernelState())).snapshot
      #expect(snapshot.value(of: kind.declaration, link: 0).value == nil, "\(kind)")
    }
  }

  @Test("a fact is kept, made unknown, filled in from another look, and never mixed up with another", arguments: FactTable.all)
  func access(_ fact: FactDeclaration) {
    let value = sample(of: fact)
    let before = NetworkSnapshot(primary: "link", links: [LinkFacts(name: "link")])
    var snapshot = before
    let isSet = snapshot.set(fact, to: value, link: 0)
    #expect(isSet)
    #expect(snapshot.value(of: fact, link: 0) == .known(value))
    for other in FactTable.all where other.key != fact.key {
      #expect(snapshot.value(of: other, link: 0) == before.value(of: other, link: 0), "\(fact.key) changes \(other.key)")
    }
    let wrong: FactValue = fact.form == .flag ? .text("true") : .flag(true)
    let isWrongTaken = snapshot.set(fact, to: wrong, link: 0)
    #expect(!isWrongTaken)
    #expect(snapshot.value(of: fact, link: 0) == .known(value))
    guard let kind = fact.kind else { return }
    var unknown = snapshot
    unknown.makeUnknown(fact, reason: Fact<Bool>.notNeededReason, link: 0)
    #expect(unknown.value(of: fact, link: 0) == .notNeeded)
    #expect((fact.isOfLink ? unknown.links[0].unknownReason(of: kind) : unknown.unknownReason(of: kind)) != nil)
    var underlay = SnapshotWithSources(snapshot: unknown, provenance: Provenance())
    underlay.complete(from: SnapshotWithSources(snapshot: snapshot, provenance: Provenance()))
    #expect(underlay.snapshot == snapshot)
  }

  /// A value that is not the one that silence means.
  private func sample(of fact: FactDeclaration) -> FactValue {
    let text: String? =
      switch fact.form {
      case .flag: nil
      case .word(let words): words.last
      case .line, .ssid, .wantedSSID, .ssidPattern, .linkPattern: "Cafe"
      case .hardwareAddress: "02:00:5e:00:00:07"
      case .address, .gatewayAddress: "192.0.2.1"
      case .interfaceAddress: "192.0.2.23/24"
      case .prefix: "192.0.2.0/24"
      case .domain, .domainPattern: "cafe.example"
      case .userName: "alice"
      case .localTime: "mon 09:30:05"
      }
    guard let text else { return .flag(fact.silence != .means(.flag(true))) }
    return fact.isList ? .list([text]) : .text(text)
  }
}
