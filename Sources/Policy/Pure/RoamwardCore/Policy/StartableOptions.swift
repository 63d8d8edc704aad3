package import JSON

/// The options of an installed provider that one start of a tunnel may set.
package struct StartableOptions: Hashable, Sendable {
  /// The options that the provider's manifest declares; `nil`: the manifest was not read.
  package var schema: OptionSchema?
  /// The names that every user may set who may connect the tunnel; `password` is the credential of that name.
  package var ofUsers: [String]

  package init(schema: OptionSchema? = nil, ofUsers: [String] = []) {
    self.schema = schema
    self.ofUsers = ofUsers
  }

  /// The members of an object that the provider declares.
  func declared(among options: JSON) -> JSON {
    guard let (declared, allowsOthers) = schema?.properties, !allowsOthers else { return options }
    return .object((options.members ?? []).filter { member in declared.contains { $0.name == member.key } })
  }

  /// The word for the credential `password` among the options of users. No option has it: policies hold no secrets.
  package static let password = "password"
}

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
