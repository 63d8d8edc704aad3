import RoamwardCore

/// Merges all files into one set, in their order. Duplicate names, undefined networks and networks that name themselves are reported as
/// problems of their files.
func mergePolicies(_ files: inout [PolicyFile]) -> PolicySet {
  var set = PolicySet()
  var networks: [String: SourceLocation] = [:]
  var tunnels: [String: SourceLocation] = [:]
  for i in files.indices {
    for network in files[i].networks {
      if let first = networks[network.name] {
        files[i].refuseTwice("network", network.name, first: first, at: network.location)
      } else {
        networks[network.name] = network.location
        set.networks.append(network)
      }
    }
    for tunnel in files[i].tunnels {
      if let first = tunnels[tunnel.name] {
        files[i].refuseTwice("tunnel", tunnel.name, first: first, at: tunnel.location)
      } else {
        tunnels[tunnel.name] = tunnel.location
        set.tunnels.append(tunnel)
      }
    }
  }
  let conditions = Dictionary(set.networks.map { ($0.name, $0.condition) }) { first, _ in first }
  let toDisconnectOn = set.tunnels.flatMap(\.onDemand.rules).networksToDisconnectOn(conditions)
  for i in files.indices {
    for (name, criteria) in files[i].emptyCriteria {
      for criterion in criteria {
        files[i].problems.add(criterion, disconnects: toDisconnectOn.contains(name), in: files[i].source)
      }
    }
  }
  let known = networks.keys.sorted()
  for i in files.indices {
    for reference in files[i].references where networks[reference.name] == nil { files[i].refuseUndefined(reference, known: known) }
  }
  let byPath = Dictionary(files.indices.map { (files[$0].source.file, $0) }) { first, _ in first }
  for loop in findNetworkProblems(set.networks) {
    if let i = byPath[loop.location.file] {
      files[i].problems.add(.error, loop.message, help: loop.help, at: loop.location, in: files[i].source)
    }
  }
  return set
}

extension PolicyFile {
  fileprivate mutating func refuseTwice(_ what: String, _ name: String, first: SourceLocation, at place: SourceLocation) {
    problems.add(
      .error, "\(what) `\(name)` is defined twice; the first is at \(first)", help: "rename or remove one of the two", at: place, in: source
    )
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
