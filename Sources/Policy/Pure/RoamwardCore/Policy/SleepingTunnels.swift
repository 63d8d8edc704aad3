extension PolicySet {
  /// The tunnels that go down before the machine sleeps: those with `disconnect-on-sleep`, and those that go through them.
  package var tunnelsDownInSleep: Set<String> {
    var names = Set(tunnels.lazy.filter { $0.isEnabled && $0.disconnectsOnSleep }.map(\.name))
    if names.isEmpty { return [] }
    while true {
      let more = tunnels.filter { $0.through.map { names.contains($0.name) } ?? false }.map(\.name).filter { !names.contains($0) }
      if more.isEmpty { return names }
      names.formUnion(more)
    }
  }
}
