internal import NetworkTypes
import RoamwardCore

/// Merges all files into one set, in their order. Duplicate names, undefined networks and networks that name themselves are reported as
/// problems of their files.
///
/// It runs on every load, over files that were mostly parsed before. So each step costs little for a file without a problem.
/// `isComplete`: these are all files; else what is not found may be defined in another.
func mergePolicies(_ files: inout [PolicyFile], isComplete: Bool = true) -> PolicySet {
  var (allNetworks, allTunnels, history): ([NamedNetwork], [TunnelPolicy], HistorySettings) = ([], [], HistorySettings())
  var groups: [TunnelGroup] = []
  allNetworks.reserveCapacity(files.count)
  allTunnels.reserveCapacity(files.count)
  var networks: [String: Int] = Dictionary(minimumCapacity: files.count)
  var tunnels: [String: Int] = Dictionary(minimumCapacity: files.count)
  for i in files.indices {
    for network in files[i].parsed.draft.networks {
      if let first = networks[network.name] {
        files[i].refuseTwice("network", network.name, first: allNetworks[first].location, at: network.location)
      } else {
        networks[network.name] = allNetworks.count
        allNetworks.append(network)
      }
    }
    for tunnel in files[i].parsed.draft.tunnels {
      if let first = tunnels[tunnel.name] {
        files[i].refuseTwice("tunnel", tunnel.name, first: allTunnels[first].location, at: tunnel.location)
      } else {
        tunnels[tunnel.name] = allTunnels.count
        allTunnels.append(tunnel)
      }
    }
    for group in files[i].parsed.draft.groups {
      if let first = groups.first(where: { $0.name == group.name }) {
        files[i].refuseTwice("group", group.name, first: first.location, at: group.location)
      } else {
        groups.append(group)
      }
    }
    if let own = files[i].parsed.draft.history, let place = own.location {
      if let first = history.location { files[i].refuseSecondHistory(first: first, at: place) } else { history = own }
    }
  }
  let written = allTunnels
  if !groups.isEmpty { applyGroups(&groups, to: &allTunnels) { tunnels[$0] } }
  let set = PolicySet(networks: allNetworks, tunnels: allTunnels, groups: groups, history: history)
  let condition = { (name: String) in networks[name].map { set.networks[$0].condition } }
  reportEmptyCriteria(of: &files, rules: set.tunnels.lazy.flatMap(\.onDemand.rules), condition)
  guard isComplete else { return set }
  var known: [String]?
  for i in files.indices {
    for reference in files[i].parsed.references where networks[reference.name] == nil {
      let names = known ?? networks.keys.sorted()
      known = names
      files[i].refuseUndefined(reference, known: names)
    }
  }
  let problems =
    findNetworkProblems(set.networks, condition) + findNestingProblems(set.tunnels) { tunnels[$0].map { set.tunnels[$0] } }
    + (groups.isEmpty ? [] : findGroupProblems(groups, written) { tunnels[$0].map { written[$0] } })
  if problems.isEmpty { return set }
  let byPath = Dictionary(files.indices.map { (files[$0].parsed.contents.path, $0) }) { first, _ in first }
  for problem in problems {
    guard let i = byPath[problem.location.file] else { continue }
    files[i].problems.add(.error, problem.message, help: problem.help, at: problem.location, in: files[i].source)
  }
  return set
}

/// Reports the empty criteria of networks, by the use of each network.
private func reportEmptyCriteria(of files: inout [PolicyFile], rules: some Sequence<Rule>, _ condition: (String) -> Condition?) {
  guard files.contains(where: { !$0.parsed.draft.emptyCriteria.isEmpty }) else { return }
  let toDisconnectOn = networksToDisconnectOn(rules, condition)
  for i in files.indices {
    for (name, criteria) in files[i].parsed.draft.emptyCriteria {
      for criterion in criteria {
        files[i].problems.add(criterion, disconnects: toDisconnectOn.contains(name), in: files[i].source)
      }
    }
  }
}

extension PolicyFile {
  fileprivate mutating func refuseTwice(_ what: String, _ name: String, first: SourceLocation, at place: SourceLocation) {
    problems.add(
      .error, "\(what) `\(name)` is defined twice; the first is at \(first)", help: "rename or remove one of the two", at: place, in: source
    )
  }

  fileprivate mutating func refuseSecondHistory(first: SourceLocation, at place: SourceLocation) {
    problems.add(
      .error, "`history` is set twice; the first is at \(first)", help: "keep it in one file", at: place, in: source)
  }

  fileprivate mutating func refuseUndefined(_ reference: NetworkReference, known: [String]) {
    problems.add(
      .error, "there is no network \(quoted(reference.name))",
      // With very many names the search would take longer than the reading.
      help: (known.count > 1000 ? nil : nearest(to: reference.name, among: known)).map { "did you mean `\($0)`?" }
        ?? (known.isEmpty ? "define it under `networks:`, in any file" : "defined are: \(known.prefix(20).joined(separator: ", "))"),
      at: reference.location, in: source)
  }
}
