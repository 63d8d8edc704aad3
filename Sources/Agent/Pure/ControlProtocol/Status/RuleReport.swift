internal import JSON
package import RoamwardCore

/// The reference to a rule of a policy: its place in the list, counted from 1, its name, and its location in the file.
package struct RuleReport: Hashable, Sendable, Codable {
  package var index: Int
  package var name: String?
  package var file: String
  package var line: Int

  package init(index: Int, name: String?, file: String, line: Int) {
    self.index = index
    self.name = name
    self.file = file
    self.line = line
  }

  package init(_ rule: RuleReference) {
    self.init(index: rule.index, name: rule.name, file: rule.location.file, line: rule.location.line)
  }

  private enum CodingKeys: String, DescribedKey {
    case index, name, file, line

    var about: String {
      switch self {
      case .index: "Its place among the tunnel's rules, counted from 1."
      case .name: "Its name in the policy."
      case .file: "The policy's file."
      case .line: "The line of the file, counted from 1."
      }
    }
  }
}
