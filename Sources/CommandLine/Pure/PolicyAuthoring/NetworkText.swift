internal import NetworkTypes
internal import PolicyFiles
internal import PolicySource
package import RoamwardCore

/// The reason why a command cannot change a file's text; a person can.
package struct TextChangeFailure: Error, Equatable, Sendable {
  package var reason: String

  package init(_ reason: String) { self.reason = reason }
}

/// The text of a policy file, with changes of its named networks. All other lines stay as they are, comments included.
///
/// The result is read again: if anything else than the network would change, the change fails.
package struct NetworkText: Equatable, Sendable {
  package let path: String
  package private(set) var text: String

  package init(path: String, text: String) {
    self.path = path
    self.text = text
  }

  /// The name of the file that has the networks which commands define.
  package static let fileName = "trusted-networks.yaml"

  /// The network of commands, if no policy names another one.
  package static let trusted = "trusted"

  /// A file that defines one network, without any alternative yet.
  package static func fresh(path: String, network: String = trusted) -> NetworkText {
    NetworkText(
      path: path,
      text: """
        # Networks that rules of any policy may name (`network: \(trusted)`).
        # `roamward trust` adds the network that this machine is on, `roamward untrust` removes it.
        version: 1

        networks:
          \(PolicyPrinter.key(network)):
            any-of:
              - { gateway-mac: "00:00:00:00:00:00" }   # no network yet: no gateway has this address

        """)
  }

  /// The networks that the file defines.
  package var networks: [NamedNetwork] { Self.read(path, text).policies.networks }

  /// Adds an alternative to a network of this file, or a network with it. `false`: it is there already.
  package mutating func add(_ condition: Condition, to name: String) throws(TextChangeFailure) -> Bool {
    guard let network = networks.first(where: { $0.name == name }) else {
      try define(NetworkDefinition(name: name, alternatives: [condition]))
      return true
    }
    var definition = NetworkDefinition(network)
    let before = definition.alternatives.count
    guard definition.add(condition) else { return false }
    // The line of "no network yet" goes.
    let removed = definition.alternatives.count > before ? [] : Array(0..<before)
    try replace(network, with: definition, removing: removed)
    return true
  }

  /// Removes alternatives of a network of this file.
  package mutating func remove(_ places: [Int], from name: String) throws(TextChangeFailure) {
    guard let network = networks.first(where: { $0.name == name }) else { throw TextChangeFailure("no network \(name) is defined there") }
    var definition = NetworkDefinition(network)
    for place in places.sorted().reversed() { definition.alternatives.remove(at: place) }
    try replace(network, with: definition, removing: places)
  }

  private mutating func replace(
    _ network: NamedNetwork, with definition: NetworkDefinition, removing: [Int]
  ) throws(TextChangeFailure) {
    var lines = text.lines
    let changed = definition.network(at: network.location)
    guard let block = NetworkBlock(of: network.location, in: lines) else {
      throw TextChangeFailure("the network is not defined on lines of its own")
    }
    block.replace(in: &lines, with: changed, alternatives: NetworkDefinition(network).alternatives.count, removing: removing)
    try accept(lines.joined(separator: "\n")) { networks in networks.map { $0.name == network.name ? changed : $0 } }
  }

  /// Defines a network in front of the others.
  private mutating func define(_ definition: NetworkDefinition) throws(TextChangeFailure) {
    var lines = text.lines
    let place = networks.first?.location
    let indent = place.map { $0.column - 1 } ?? 2
    var added = [String(repeating: " ", count: indent) + "\(PolicyPrinter.key(definition.name)):"]
    added += NetworkBlock.alternatives(definition.alternatives, indent: indent + 2)
    if let place {
      guard lines.indices.contains(place.line - 1), lines[place.line - 1].prefix(indent).allSatisfy({ $0 == " " }) else {
        throw TextChangeFailure("its networks are not on lines of their own")
      }
      lines.insert(contentsOf: added, at: place.line - 1)
    } else if let version = lines.firstIndex(where: { $0.hasPrefix("version:") }), !lines.contains(where: { $0.hasPrefix("networks:") }) {
      lines.insert(contentsOf: ["", "networks:"] + added, at: version + 1)
    } else {
      throw TextChangeFailure("it has no list of networks that can be added to")
    }
    let network = definition.network(at: SourceLocation(file: path, line: 1, column: 1))
    try accept(lines.joined(separator: "\n")) { [network] + $0 }
  }

  /// Takes the new text if nothing but the networks has changed, and they as expected.
  private mutating func accept(_ new: String, networks expected: ([NamedNetwork]) -> [NamedNetwork]) throws(TextChangeFailure) {
    let (before, after) = (Self.read(path, text), Self.read(path, new))
    var wanted = before.policies
    wanted.networks = expected(before.policies.networks)
    func errors(_ loaded: LoadedPolicies) -> Int { loaded.diagnostics.count { $0.severity == .error } }
    guard PolicyPrinter.yaml(wanted) == PolicyPrinter.yaml(after.policies), errors(after) <= errors(before) else {
      throw TextChangeFailure("its text has a form that this command cannot change")
    }
    text = new
  }

  /// The file as it would be read; other files that it names are those on disk.
  private static func read(_ path: String, _ text: String) -> LoadedPolicies {
    loadPolicies(layers: [path], files: .person.with([path: Array(text.utf8)]), requireRootOwnership: false)
  }
}

extension String {
  fileprivate var lines: [String] { split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
}

/// The lines that define a network.
private struct NetworkBlock {
  /// The line of its name.
  let first: Int
  /// Behind its last line.
  let end: Int
  let indent: Int

  /// `nil` if the definition is not on lines of its own.
  init?(of place: SourceLocation, in lines: [String]) {
    first = place.line - 1
    indent = place.column - 1
    guard lines.indices.contains(first), lines[first].prefix(indent).allSatisfy({ $0 == " " }) else { return nil }
    var last = first
    for i in lines.indices.dropFirst(first + 1) where lines[i].isSignificant {
      guard lines[i].indentation > indent else { break }
      last = i
    }
    end = last + 1
  }

  /// `any-of` with its entries.
  static func alternatives(_ conditions: [Condition], indent: Int) -> [String] {
    [String(repeating: " ", count: indent) + "any-of:"] + conditions.flatMap { entry($0, indent: indent + 2) }
  }

  private static func entry(_ condition: Condition, indent: Int) -> [String] {
    let remark = condition == .noNetwork ? "   # no network yet: no gateway has this address\n" : "\n"
    let text = PolicyPrinter.listEntry(of: condition, indent: indent).dropLast() + remark
    return text.split(separator: "\n").map(String.init)
  }

  func replace(in lines: inout [String], with network: NamedNetwork, alternatives count: Int, removing: [Int]) {
    let definition = NetworkDefinition(network)
    if let entries = entries(in: lines), entries.count == count, removing.count < count || definition.alternatives.count == 1 {
      // Whole entries come and go; the others stay as they are written.
      let column = lines[entries[0].lowerBound].indentation
      let kept = count - removing.count
      let added = definition.alternatives.dropFirst(kept).flatMap { Self.entry($0, indent: column) }
      lines.insert(contentsOf: added, at: entries[count - 1].upperBound)
      for place in removing.sorted().reversed() { lines.removeSubrange(entries[place]) }
      return
    }
    let comments = lines[(first + 1)..<end].filter { $0.trimmed.hasPrefix("#") }
    let key = String(repeating: " ", count: indent) + "\(PolicyPrinter.key(network.name)):"
    lines.replaceSubrange(first..<end, with: [key] + comments + Self.alternatives(definition.alternatives, indent: indent + 2))
  }

  /// The lines of each entry, if the definition is `any-of` with entries on lines of their own, and nothing else.
  private func entries(in lines: [String]) -> [Range<Int>]? {
    let significant = (first..<end).filter { lines[$0].isSignificant }
    guard significant.count >= 3, lines[significant[0]].withoutComment.hasSuffix(":"),
      lines[significant[1]].withoutComment == "any-of:"
    else { return nil }
    let column = lines[significant[2]].indentation
    var starts: [Int] = []
    for i in significant.dropFirst(2) {
      if lines[i].indentation == column {
        guard lines[i].trimmed.hasPrefix("- ") else { return nil }
        starts.append(i)
      } else if lines[i].indentation < column {
        return nil
      }
    }
    return starts.indices.map { n in
      let next = n + 1 < starts.count ? starts[n + 1] : end
      // Comments in front of the next entry belong to that.
      let last = (starts[n]..<next).last { lines[$0].isSignificant } ?? starts[n]
      return starts[n]..<(last + 1)
    }
  }
}

extension String {
  fileprivate var trimmed: Substring { drop { $0 == " " } }

  fileprivate var indentation: Int { prefix { $0 == " " }.count }

  /// Neither empty nor only a comment.
  fileprivate var isSignificant: Bool { !(trimmed.isEmpty || trimmed.hasPrefix("#") || trimmed == "\r") }

  fileprivate var withoutComment: Substring {
    var text = trimmed
    if let comment = text.firstRange(of: " #") { text = text[..<comment.lowerBound] }
    while text.last == " " { text.removeLast() }
    return text
  }
}
