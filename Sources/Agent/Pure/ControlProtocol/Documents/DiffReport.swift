package import JSON
package import RoamwardCore

/// The output of `roamward diff --json`: the drift between desired and observed state.
package struct DiffReport: Hashable, Sendable, Codable {
  package var version: DocumentVersion = DocumentVersion()
  package var differences: [Difference]
  package var notes: [RemarkReport]

  package init(differences: [Difference], notes: [RemarkReport]) {
    self.differences = differences
    self.notes = notes
  }

  package init(_ differences: [Discrepancy], _ preview: PlanPreview) {
    self.init(
      differences: differences.map { Difference(area: $0.area.rawValue, wanted: $0.wanted, found: $0.found) },
      notes: (preview.remarks + preview.plan.conflicts).map { RemarkReport($0) })
  }

  private enum CodingKeys: String, DescribedKey {
    case version, differences, notes

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .differences: "The objects that differ; empty: no drift."
      case .notes: "Parts of the policies that cannot be fulfilled."
      }
    }
  }
}

extension DiffReport {
  /// An object that differs.
  package struct Difference: Hashable, Sendable, Codable {
    package var area: String
    package var wanted: [String]
    package var found: [String]

    package init(area: String, wanted: [String], found: [String]) {
      self.area = area
      self.wanted = wanted
      self.found = found
    }

    private enum CodingKeys: String, DescribedKey {
      case area, wanted, found

      var about: String {
        switch self {
        case .area: "The part of the system."
        case .wanted: "Desired, and missing."
        case .found: "Present, and not desired."
        }
      }

      var values: [String]? {
        switch self {
        case .area: Discrepancy.Area.allCases.map(\.rawValue)
        default: nil
        }
      }
    }
  }
}
