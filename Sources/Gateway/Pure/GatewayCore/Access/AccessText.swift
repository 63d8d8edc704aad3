import NetworkTypes

extension Directory {
  /// The rule as its command writes it: `allow web: group staff to 10.0.0.0/8 tcp 80,443`.
  package func text(of rule: AccessRule) -> String {
    let source =
      switch rule.source {
      case .everybody: "everybody"
      case .user(let id): "user \(users[id]?.name.description ?? "(removed)")"
      case .group(let id): "group \(groups[id]?.name.description ?? "(removed)")"
      }
    let destination =
      switch rule.destination {
      case .everything: "everything"
      case .prefixes(let prefixes): prefixes.map(\.description).joined(separator: ",")
      case .devices(let group): "devices of group \(groups[group]?.name.description ?? "(removed)")"
      }
    let ports = rule.ports.map(\.description).joined(separator: ",")
    return "\(rule.isAllowing ? "allow" : "deny") \(rule.name): \(source) to \(destination)"
      + (rule.transport == .any ? "" : " \(rule.transport.rawValue)") + (ports.isEmpty ? "" : " \(ports)")
  }
}

extension DeclaredMarks {
  /// `FILE:LINE` of the file that declares the subject; `nil`: none does.
  package func place(of subject: DeclaredSubject) -> String? { marks(of: subject).first?.place }

  package func place(of rule: AccessRule) -> String? { place(of: DeclaredSubject(.rule, rule.name.description)) }
}

extension AccessDecision {
  /// Each rule that was evaluated, with its place in a file, and the decision.
  package func explanation(in directory: Directory) -> [String] {
    func placed(_ text: String, _ rule: AccessRule?) -> String {
      [text, rule.flatMap { directory.marks.place(of: $0) }].compactMap { $0 }.joined(separator: "  ")
    }
    return passed.map { placed("no match  \(directory.text(of: $0.rule)): \($0.reason.rawValue)", $0.rule) }
      + [placed(text(in: directory), rule)]
  }

  /// The deciding rule in one line.
  package func text(in directory: Directory) -> String {
    rule.map { "\(isAllowed ? "allowed" : "denied") by rule \($0.name) (\(directory.text(of: $0)))" }
      ?? "denied: no rule matches (\(directory.rules.count) evaluated)"
  }
}
