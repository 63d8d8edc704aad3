package import JSON
internal import NetworkTypes
package import RoamwardCore

/// The reason why an option cannot be set for a start, for people.
package struct StartOptionProblem: Error, Equatable, Sendable {
  package let text: String
  /// Whether the user lacks the right.
  package var isOfRights = false
}

extension StartableOptions {
  /// Reads options of a start, as a person writes them: several of one name are a list. `isOwner`: the caller may set each declared one.
  /// `tunnel`: its name, for messages.
  package func read(_ given: [(name: String, value: String)], of tunnel: String, isOwner: Bool) throws(StartOptionProblem) -> JSON {
    let (declared, allowsOthers) = schema?.properties ?? ([], false)
    let known = declared.map(\.name)
    var members: [JSON.Member] = []
    for name in given.map(\.name).uniqued() {
      let property = declared.first { $0.name == name }
      guard property != nil || allowsOthers, !isSecretName(name) else {
        let cure = isSecretName(name) ? "; a password is given by --password-fd or --ask-password" : ""
        throw StartOptionProblem(text: "the provider of \(tunnel) has no option \(quoted(name)); \(Self.list(known))\(cure)")
      }
      try check(name, of: tunnel, isOwner: isOwner)
      let values = given.filter { $0.name == name }.map(\.value)
      members.append(.init(key: name, value: try value(values, by: property?.schema, of: name, tunnel)))
    }
    return .object(members)
  }

  /// Throws if the caller may not set it.
  package func check(_ name: String, of tunnel: String, isOwner: Bool) throws(StartOptionProblem) {
    if isOwner || ofUsers.contains(name) { return }
    let allowed = ofUsers.isEmpty ? "it names none" : "it names \(ofUsers.joined(separator: ", "))"
    throw StartOptionProblem(
      text: "users may not set `\(name)` of \(tunnel): `start-options` of its policy does not name it (\(allowed)); run it with sudo",
      isOfRights: true)
  }

  private func value(
    _ values: [String], by schema: OptionSchema?, of name: String, _ tunnel: String
  ) throws(StartOptionProblem) -> JSON {
    let source = SourceText(file: "--option", bytes: [])
    let nodes = values.map { Node(content: .scalar($0, isPlain: false), location: source.start) }
    let node: Node
    if case .array = schema?.kind {
      node = Node(content: .sequence(nodes), location: source.start)
    } else {
      guard nodes.count == 1 else { throw StartOptionProblem(text: "option `\(name)` of \(tunnel) is given \(nodes.count) times") }
      node = nodes[0]
    }
    guard let schema else { return .string(values[0]) }
    if case .object = schema.kind {
      throw StartOptionProblem(text: "option `\(name)` of \(tunnel) has keys of its own, which only the policy can have")
    }
    var reading = Reading(source, surroundings: nil)
    guard let value = schema.read(node, as: "`\(name)`", &reading), !reading.problems.hasErrors else {
      let problem = reading.problems.sorted.first?.message ?? "the value does not fit"
      throw StartOptionProblem(text: "option `\(name)` of \(tunnel): \(problem)")
    }
    return value
  }

  private static func list(_ names: [String]) -> String {
    names.isEmpty ? "it has none" : "its options are \(names.joined(separator: ", "))"
  }
}
