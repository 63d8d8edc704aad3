import RoamwardCore

/// The maximum number of conditions of a network with all its named networks expanded.
private let expansionLimit = 10_000

/// Finds networks that name themselves through others, and networks that grow too large by naming others again and again.
///
/// It works from the leaves up, without recursion. A chain of 50,000 names must not exhaust the stack, and must not reach an evaluator.
/// `condition` returns the condition of a network by its name; `nil` if there is none.
func findNetworkProblems(
  _ all: [NamedNetwork], _ condition: (String) -> Condition?
) -> [(location: SourceLocation, message: String, help: String)] {
  // All others are leaves without a problem. Usually they are all networks.
  let networks = all.filter { namesNetworks($0.condition) || countConditions(in: $0.condition) > expansionLimit }
  if networks.isEmpty { return [] }
  let byName = Dictionary(networks.map { ($0.name, $0) }) { first, _ in first }
  let uses = byName.mapValues { $0.condition.networksNamed }
  var usedBy: [String: [String]] = [:]
  var open: [String: Int] = [:]
  for (name, used) in uses {
    let known = Set(used).filter { byName[$0] != nil }
    open[name] = known.count
    for other in known { usedBy[other, default: []].append(name) }
  }
  var sizes: [String: Int] = [:]
  var depths: [String: Int] = [:]
  var ready = networks.map(\.name).filter { open[$0] == 0 }
  while let name = ready.popLast() {
    guard let network = byName[name], let used = uses[name] else { continue }
    sizes[name] = used.reduce(countConditions(in: network.condition)) {
      min($0 + (sizes[$1] ?? condition($1).map(countConditions) ?? 0), expansionLimit + 1)
    }
    depths[name] = used.reduce(1) { max($0, (depths[$1] ?? (condition($1) == nil ? 0 : 1)) + 1) }
    for user in usedBy[name] ?? [] {
      open[user, default: 0] -= 1
      if open[user] == 0 { ready.append(user) }
    }
  }
  var problems: [(location: SourceLocation, message: String, help: String)] = []
  let unsolved = networks.filter { sizes[$0.name] == nil }
  for network in unsolved {
    guard let circle = circle(from: network.name, uses: uses, within: { byName[$0] != nil && sizes[$0] == nil }) else { continue }
    problems.append((network.location, "network `\(network.name)` names itself: \(circle.joined(separator: " → "))", "break the circle"))
  }
  if problems.isEmpty, let first = unsolved.first {
    problems.append((first.location, "network `\(first.name)` leads to networks that name themselves", "break the circle"))
  }
  for network in networks {
    if sizes[network.name, default: 0] > expansionLimit {
      problems.append(
        (network.location, "network `\(network.name)` comes to more than 10,000 conditions through those it names", "name fewer"))
    } else if depths[network.name, default: 0] > YAMLLimits.depth {
      problems.append((network.location, "network `\(network.name)` names others more than \(YAMLLimits.depth) levels deep", "name fewer"))
    }
  }
  return problems
}

/// The shortest cycle from a network back to itself. `nil` if it only leads into a cycle of others, or if the search takes too long.
private func circle(from start: String, uses: [String: [String]], within: (String) -> Bool) -> [String]? {
  var cameFrom: [String: String] = [:]
  var queue = [start]
  var i = 0
  while i < queue.count, i < 100 {
    let name = queue[i]
    i += 1
    for next in uses[name] ?? [] where within(next) {
      if next == start {
        var path = [start]
        var last = name
        while last != start, let previous = cameFrom[last] {
          path.append(last)
          last = previous
        }
        return ([start] + path.reversed())
      }
      if cameFrom[next] == nil {
        cameFrom[next] = name
        queue.append(next)
      }
    }
  }
  return nil
}

private func namesNetworks(_ condition: Condition) -> Bool {
  switch condition {
  case .all(let parts), .any(let parts): parts.contains(where: namesNetworks)
  case .not(let part): namesNetworks(part)
  case .network: true
  case .criterion: false
  }
}

private func countConditions(in condition: Condition) -> Int {
  switch condition {
  case .all(let parts), .any(let parts): parts.reduce(1) { $0 + countConditions(in: $1) }
  case .not(let part): 1 + countConditions(in: part)
  default: 1
  }
}
