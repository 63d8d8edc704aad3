internal import NetworkTypes
internal import RoamwardCore

/// What a tunnel's packets go through: when it changes, the other side has to be asked whether it still hears us.
struct UnderlayPath: Equatable {
  /// A link that gets another name is the same; one that takes the place of another is not, be it of the same name.
  let device: DeviceIdentity?
  /// In a network without devices the name has to do.
  let invented: String?
  let addresses: [InterfaceAddress]
  let gateways: [IPAddress]

  init(_ snapshot: NetworkSnapshot) {
    let primary = snapshot.primaryLink
    device = primary?.device
    invented = device == nil ? primary?.name : nil
    addresses = primary?.addresses.filter { !$0.address.isLinkLocal } ?? []
    gateways = primary?.gateways ?? []
  }
}
