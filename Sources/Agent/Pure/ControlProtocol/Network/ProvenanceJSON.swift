package import JSON
internal import NetworkTypes
package import RoamwardCore

extension SnapshotWithSources {
  /// The snapshot file's form with a section `facts` beside it: the source of each fact. Readers of the snapshot ignore the section.
  package var json: JSON {
    guard case .object(var members) = snapshot.json else { return snapshot.json }
    members.append(.init(key: "facts", value: JSON(encoding: FactReports(of: self))))
    return .object(members)
  }

  /// Takes the reasons of unknown facts, and the sources, from `facts`; unreadable parts are left out.
  package mutating func takeFacts(from json: JSON) {
    guard let reports = try? json["facts"]?.decoded(as: FactReports.self) else { return }
    for i in snapshot.links.indices {
      let name = snapshot.links[i].name
      for (kind, report) in reports.links[name] ?? [:] {
        guard let kind = FactKind(rawValue: kind), kind.isOfLink else { continue }
        provenance.links[name, default: [:]][kind] = report.origin
        if let reason = report.unknown { snapshot.links[i].makeUnknown(kind, reason: reason) }
      }
    }
    for (kind, report) in reports.machine {
      guard let kind = FactKind(rawValue: kind), !kind.isOfLink else { continue }
      provenance.machine[kind] = report.origin
      if let reason = report.unknown { snapshot.makeUnknown(kind, reason: reason) }
    }
  }
}

/// The facts by link, and of the machine: for each requested fact, its sources in order, and the reason if it is unknown.
struct FactReports: Codable {
  var links: [String: [String: FactReport]]
  var machine: [String: FactReport]

  private enum CodingKeys: String, DescribedKey {
    case links, machine

    var about: String {
      switch self {
      case .links: "By link, and by key of the fact."
      case .machine: "By key of the fact."
      }
    }
  }

  init(of underlay: SnapshotWithSources) {
    let (snapshot, provenance) = (underlay.snapshot, underlay.provenance)
    let links = snapshot.links.map { link in
      (link.name, Self.reports(provenance.links[link.name] ?? [:], FactKind.allCases.filter(\.isOfLink), link.unknownReason))
    }
    self.links = Dictionary(links) { first, _ in first }
    machine = Self.reports(provenance.machine, FactKind.allCases.filter { !$0.isOfLink }, snapshot.unknownReason)
  }

  private static func reports(
    _ origins: [FactKind: FactOrigin], _ kinds: [FactKind], _ reason: (FactKind) -> String?
  ) -> [String: FactReport] {
    let reports = kinds.compactMap { kind -> (String, FactReport)? in
      let reason = reason(kind)
      guard origins[kind] != nil || reason != nil else { return nil }
      return (kind.rawValue, FactReport(origins[kind] ?? FactOrigin([]), unknown: reason))
    }
    return Dictionary(reports) { first, _ in first }
  }
}

/// The origin of one fact.
struct FactReport: Codable {
  struct Answer: Codable {
    var source: String
    var said: String
    var isBelieved: Bool
    var reason: String?

    private enum CodingKeys: String, DescribedKey {
      case source, said
      case isBelieved = "believed"
      case reason

      var about: String {
        switch self {
        case .source: "The source, for people."
        case .said: "Its answer, for people."
        case .isBelieved: "Whether the fact is taken from it."
        case .reason: "Why, for people; null: nothing to add."
        }
      }
    }
  }

  /// The selected source.
  var source: String?
  /// When it last confirmed the fact, in whole seconds.
  var confirmed: Timestamp?
  /// The reason why the fact is unknown.
  var unknown: String?
  var asked: [Answer]

  private enum CodingKeys: String, DescribedKey {
    case source, confirmed, unknown, asked

    var about: String {
      switch self {
      case .source: "The source that it is taken from; null: none."
      case .confirmed: "When that source last confirmed it, in whole seconds; null: not known."
      case .unknown: "Why the fact is not known, for people; null: it is known."
      case .asked: "All sources, in the order of their precedence."
      }
    }
  }

  init(_ origin: FactOrigin, unknown: String?) {
    source = origin.believed?.source
    confirmed = origin.confirmed.map { Timestamp(seconds: $0) }
    self.unknown = unknown
    asked = origin.sources.map { Answer(source: $0.source, said: $0.said, isBelieved: $0.isBelieved, reason: $0.reason) }
  }

  var origin: FactOrigin {
    FactOrigin(
      asked.map { SourceAnswer(source: $0.source, said: $0.said, isBelieved: $0.isBelieved, reason: $0.reason) },
      confirmed: confirmed?.seconds)
  }
}
