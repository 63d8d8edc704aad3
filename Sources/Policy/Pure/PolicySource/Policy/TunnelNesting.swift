import NetworkTypes
import RoamwardCore

/// The greatest number of tunnels inside one another. Each takes bytes from the MTU: more leave too little of a usual one.
private let depthLimit = 4

/// Finds tunnels that cannot go `through:` the tunnel that they name. `tunnel` returns a tunnel by its name.
func findNestingProblems(
  _ all: [TunnelPolicy], _ tunnel: (String) -> TunnelPolicy?
) -> [(location: SourceLocation, message: String, help: String)] {
  var problems: [(location: SourceLocation, message: String, help: String)] = []
  for inner in all {
    guard let through = inner.through else { continue }
    if let problem = problem(of: inner, through, all, tunnel) { problems.append((through.location, problem.message, problem.help)) }
  }
  return problems
}

private func problem(
  of inner: TunnelPolicy, _ through: OuterTunnel, _ all: [TunnelPolicy], _ tunnel: (String) -> TunnelPolicy?
) -> (message: String, help: String)? {
  guard let outer = tunnel(through.name) else {
    let names = all.count > 1000 ? [] : all.map(\.name).filter { $0 != inner.name }
    return (
      "there is no tunnel \(quoted(through.name))",
      nearest(to: through.name, among: names).map { "did you mean `\($0)`?" } ?? "define it under `tunnels:`, in any file"
    )
  }
  if let owner = outer.availability.owner, inner.availability.owner != owner {
    return (
      "`\(inner.name)` goes through `\(outer.name)`, which belongs to \(owner) and is for no other user",
      "write `owner: \(owner)` for both, or for none"
    )
  }
  var chain = [inner.name]
  var next: TunnelPolicy? = outer
  while let one = next, chain.count <= depthLimit {
    if one.name == inner.name {
      return ("tunnel `\(inner.name)` goes through itself: \((chain + [one.name]).joined(separator: " → "))", "break the circle")
    }
    if chain.contains(one.name) { return ("`\(outer.name)` goes through itself", "break the circle of `\(one.name)`") }
    chain.append(one.name)
    next = one.through.flatMap { tunnel($0.name) }
  }
  if next != nil { return ("more than \(depthLimit) tunnels are inside one another", "remove a `through:`") }
  if inner.precedence == .enterprise, chain.contains(where: { $0 != inner.name && tunnel($0)?.precedence == .enterprise }) {
    return (
      "both `\(inner.name)` and `\(outer.name)` are enterprise tunnels, and only one of those runs at a time",
      "make one of them `class: personal`"
    )
  }
  if outer.linkName == nil {
    return ("tunnel `\(outer.name)` has no link to go through", "add `interface:` to its `command`")
  }
  return nil
}
