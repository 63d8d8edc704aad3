/// A setting of a device, with the scope that has set it.
package struct SettingOrigin: Hashable, Sendable {
  /// `routes`, `dns`, `search`, `mtu`, `keepalive` or `devices`.
  package let name: String
  package let values: [String]
  /// `everybody`, `group staff`, `user alice` or `device alice/laptop`.
  package let origin: String

  /// `routes 10.20.0.0/16, 10.30.0.0/16  from group staff`.
  package var line: String { "\(name) \(values.isEmpty ? "none" : values.joined(separator: ", "))  from \(origin)" }
}

extension Directory {
  /// The merged settings of a device, each with its origin.
  package func settingOrigins(of device: Device) -> [SettingOrigin] { origins(in: [.device(device.id)] + scopes(of: device.user)) }

  /// Those of a user's devices that have none of their own.
  package func settingOrigins(of user: User) -> [SettingOrigin] { origins(in: scopes(of: user.id)) }

  /// The settings of one device alone, without those of its user, of groups and of everybody.
  package func ownSettings(of device: Device) -> [SettingOrigin] { origins(in: [.device(device.id)]) }

  /// `scopes`: the most specific one first.
  private func origins(in scopes: [Settings.Scope]) -> [SettingOrigin] {
    var found: [SettingOrigin] = []
    for scope in scopes {
      for (name, values) in settings(for: scope)?.entries ?? [] where !found.contains(where: { $0.name == name }) {
        found.append(SettingOrigin(name: name, values: values, origin: text(of: scope)))
      }
    }
    return found
  }

  /// `everybody`, `group staff`, `user alice` or `device alice/laptop`.
  func text(of scope: Settings.Scope) -> String {
    switch scope {
    case .everybody: "everybody"
    case .group(let id): "group \(groups[id]?.name.description ?? "(removed)")"
    case .user(let id): "user \(users[id]?.name.description ?? "(removed)")"
    case .device(let id): "device \(devices[id].flatMap(path)?.description ?? "(removed)")"
    }
  }
}
