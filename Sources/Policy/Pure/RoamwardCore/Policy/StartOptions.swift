package import JSON

extension PolicySet {
  /// The set with options of single starts, by tunnel: they come before those of the policy. Those that its provider does not declare any
  /// more are left out.
  package func with(startOptions: [String: JSON]) -> PolicySet {
    if startOptions.isEmpty { return self }
    var changed = self
    for i in changed.tunnels.indices {
      guard let options = startOptions[changed.tunnels[i].name], case .installed(var provider) = changed.tunnels[i].provider else {
        continue
      }
      provider.options = provider.options.replacingMembers(by: provider.startable.declared(among: options))
      changed.tunnels[i].provider = .installed(provider)
    }
    return changed
  }
}

extension JSON {
  /// The object with the members of another one, which come before its own.
  fileprivate func replacingMembers(by other: JSON) -> JSON {
    let (own, new) = (members ?? [], other.members ?? [])
    let replaced = own.map { member in new.first { $0.key == member.key } ?? member }
    return .object(replaced + new.filter { member in !own.contains { $0.key == member.key } })
  }
}
