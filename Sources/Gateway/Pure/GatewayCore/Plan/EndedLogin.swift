package import KernelModel
package import NetworkTypes

/// A login that is no longer valid, and what a message to its device needs.
package struct EndedLogin: Equatable, Sendable {
  package var device: Int64
  package var publicKey: WireGuardKey
  /// The device's first address in the tunnel.
  package var address: IPAddress
  /// When the login was.
  package var proven: Timestamp

  package init(device: Int64, publicKey: WireGuardKey, address: IPAddress, proven: Timestamp) {
    self.device = device
    self.publicKey = publicKey
    self.address = address
    self.proven = proven
  }

  /// Those that changes of rows end: of sessions that were ended, and of devices that were removed, if they could connect before. A device
  /// of a locked user keeps its login, and one with another key has a newer one.
  package static func all(in changes: [RowChange], from old: Directory, at now: Timestamp) -> [EndedLogin] {
    let devices = changes.compactMap { change -> Int64? in
      switch change {
      case .remove(.devices, let id): id
      case .put(.login(let login)) where login.ended != nil: login.device
      default: nil
      }
    }
    return Set(devices).sorted().compactMap { id in
      guard let device = old.devices[id], old.isActive(device, at: now), let login = old.login(of: id),
        let address = old.addresses(of: id).first
      else { return nil }
      return EndedLogin(device: id, publicKey: device.publicKey, address: address, proven: login.proven)
    }
  }
}
