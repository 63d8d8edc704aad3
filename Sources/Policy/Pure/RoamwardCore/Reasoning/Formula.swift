import NetworkTypes

/// Conditions as one graph of tests of facts; every named network is one node.
package struct Formula {
  package enum Node {
    case constant(Bool)
    case test(FactTest, key: String)
    case all([Int])
    case any([Int])
    case not(Int)
    /// The condition of a named network.
    case network(String, Int)
  }

  /// A node and its required result: for certain, or as far as it is known. The same requirement applies to the parts.
  package struct Goal: Equatable {
    package var node: Int
    package var holds = true
    /// An unknown result is sufficient too.
    package var orUnknown = false

    package init(node: Int, holds: Bool = true, orUnknown: Bool = false) {
      self.node = node
      self.holds = holds
      self.orUnknown = orUnknown
    }

    /// The complement. Not to match for certain means to be unknown or not to match.
    package static prefix func ! (goal: Goal) -> Goal { Goal(node: goal.node, holds: !goal.holds, orUnknown: !goal.orUnknown) }

    package func orUnknown(_ will: Bool) -> Goal { Goal(node: node, holds: holds, orUnknown: will) }

    /// The same requirement for a part.
    package func of(_ part: Int) -> Goal { Goal(node: part, holds: holds, orUnknown: orUnknown) }

    /// The opposite requirement for a part.
    package func ofNegated(_ part: Int) -> Goal { Goal(node: part, holds: !holds, orUnknown: orUnknown) }
  }

  package private(set) var nodes: [Node] = []
  package private(set) var facts: [FactKey] = []
  /// The given conditions, in their order.
  package private(set) var roots: [Goal] = []
  package let universe: FactUniverse
  private let networks: NetworkTable
  private var factNumbers: [FactKey: Int] = [:]
  private var networkNodes: [String: Int] = [:]

  /// `nil` if the conditions are too many to reason about.
  package init?(_ conditions: [Condition], networks: NetworkTable) {
    guard let universe = FactUniverse(of: networks.closure(of: conditions)) else { return nil }
    self.universe = universe
    self.networks = networks
    roots = conditions.map { Goal(node: add($0)) }
  }

  private mutating func add(_ node: Node) -> Int {
    nodes.append(node)
    return nodes.count - 1
  }

  private mutating func add(_ condition: Condition) -> Int {
    switch condition {
    case .all(let parts): return add(.all(parts.map { add($0) }))
    // An empty list means the same as an absent key.
    case .any(let parts): return add(parts.isEmpty ? .constant(true) : .any(parts.map { add($0) }))
    case .not(let part): return add(.not(add(part)))
    case .network(let names):
      if names.count == 1 { return add(network: names[0]) }
      return add(names.isEmpty ? .constant(true) : .any(names.map { add(network: $0) }))
    case .criterion(let criterion):
      let (fact, question) = universe.question(of: criterion)
      // Membership in a list depends on the SSID.
      if case .own(_, let below?, _) = fact { _ = number(of: .fact(below)) }
      return add(.test(FactTest(fact: number(of: fact), question: question), key: condition.key))
    }
  }

  private mutating func add(network name: String) -> Int {
    if let known = networkNodes[name] { return known }
    // Until it is known it never matches. A network that names itself is an error, which is reported elsewhere.
    networkNodes[name] = add(.constant(false))
    let node: Int
    switch networks[name] {
    case .defined(let network): node = add(.network(name, add(network.condition)))
    case .opaque: node = add(.test(FactTest(fact: number(of: .opaque(name)), question: .isIn(.flag(true))), key: "network"))
    case .missing: node = add(.constant(false))
    }
    networkNodes[name] = node
    return node
  }

  private mutating func number(of fact: FactKey) -> Int {
    if let known = factNumbers[fact] { return known }
    facts.append(fact)
    factNumbers[fact] = facts.count - 1
    return facts.count - 1
  }
}

extension Formula {
  /// The keys below a node, each once, in their order.
  package func keys(below node: Int) -> [String] {
    var keys: [String] = []
    var rest = [node]
    var seen = Set<Int>()
    while let next = rest.popLast() {
      guard seen.insert(next).inserted else { continue }
      switch nodes[next] {
      case .constant: break
      case .test(_, let key): if !keys.contains(key) { keys.append(key) }
      case .all(let parts), .any(let parts): rest += parts.reversed()
      case .not(let part), .network(_, let part): rest.append(part)
      }
    }
    return keys
  }
}
