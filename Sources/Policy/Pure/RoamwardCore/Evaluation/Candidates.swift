/// The rules that may decide while facts are unknown, in their order, each with what its match still asks for.
///
/// A completion gives every unknown fact a value. The decision is the most protective of those that some completion gives.
struct Candidates {
  /// The end of the list.
  enum End: Equatable {
    /// With a rule that holds, or after the last rule.
    case decided
    /// With a rule whose fact is awaited.
    case awaits(Int)
  }

  /// The places of the rules. The last may hold for certain; then it has no open match.
  private(set) var rules: [Int] = []
  private var open: [Condition?] = []
  private let list: [Rule]
  var end = End.decided

  init(of rules: [Rule]) { list = rules }

  var isAwaiting: Bool { end != .decided }

  /// `match`: what is left of the match; `nil`: it holds.
  mutating func add(_ rule: Int, _ match: Condition?) {
    rules.append(rule)
    open.append(match)
  }

  /// The rule that decides, or whose fact is awaited; `nil`: no rule matches.
  var decider: Int? {
    if case .awaits(let rule) = end { return rule }
    guard open.contains(where: { $0 != nil }) else { return rules.first }
    // Of several that protect alike, the first decides; of those that disconnect the last, because only that one holds for certain.
    func order(_ place: Int) -> (Int, Int) {
      let action = list[rules[place]].action
      return (action.protection, action == .disconnect ? -place : place)
    }
    let places = rules.indices.sorted { order($0) < order($1) }
    let ignoring = Action.ignore.protection
    let mayMatchNone = open.allSatisfy { $0 != nil }
    for place in places {
      if mayMatchNone, list[rules[place]].action.protection > ignoring, isReached(rules.count) { return nil }
      if isReached(place) { return rules[place] }
    }
    return nil
  }

  /// Whether some completion reaches the rule at this place of the list; after the last: whether in some completion no rule matches. A
  /// question that is too hard counts as a yes for what protects more.
  func isReached(_ place: Int) -> Bool {
    let asked = open.prefix(place + 1).compactMap { $0 }
    if asked.isEmpty || asked.areIndependent { return true }
    guard let formula = Formula(asked, networks: NetworkTable([])) else { return true }
    var search = Satisfiability(formula)
    let isOpen = place < open.count && open[place] != nil
    let before = formula.roots.dropLast(isOpen ? 1 : 0).map { Formula.Goal(node: $0.node, holds: false) }
    return search.isPossible(before + (isOpen ? formula.roots.suffix(1) : [])) ?? true
  }
}

extension Action {
  /// The order of protection: the least number protects most.
  fileprivate var protection: Int {
    switch self {
    case .connect: 0
    case .evaluateConnection: 1
    case .ignore: 2
    case .disconnect: 3
    }
  }
}

extension [Condition] {
  /// Whether each unknown fact is asked for once, by a key that can come out either way: then every result of the conditions is possible.
  fileprivate var areIndependent: Bool {
    var seen = Set<String>()
    var isIndependent = true
    for condition in self {
      condition.forEachKey { key in
        guard isIndependent, case .criterion(let criterion) = key else { return isIndependent = false }
        // Facts of a radio depend on one another; words may all be listed, and an empty list never matches.
        guard let fact = criterion.key.fact, criterion.written.isFlag, seen.insert(fact).inserted else { return isIndependent = false }
      }
    }
    return isIndependent
  }
}

extension WrittenCriterion {
  fileprivate var isFlag: Bool { self == .word("true") || self == .word("false") }
}
