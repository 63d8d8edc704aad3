internal import GatewayCore
internal import KernelModel
internal import LoginProtocol
internal import NetworkTypes

extension LoginGrant {
  /// The settings that a device gets, as in a stock client's file.
  init?(_ directory: Directory, _ device: Device) {
    guard let site = directory.site, let user = directory.users[device.user] else { return nil }
    let settings = directory.pushedSettings(of: device)
    let addresses = directory.addresses(of: device.id)
    let families = Set(addresses.map(\.family))
    self.init(
      user: user.name.description, device: device.name.description, gatewayKey: site.publicKey.bytes, endpoint: site.endpoint.description,
      addresses: addresses, routes: (settings.routes ?? directory.sortedPools.map(\.prefix)).filter { families.contains($0.family) },
      dns: settings.dns ?? [], search: (settings.search ?? []).map(\.text), mtu: settings.mtu.map { UInt16(clamping: $0) },
      keepalive: settings.keepalive,
      gatewayAddresses: directory.sortedPools.compactMap { $0.gateway?.address }.filter { families.contains($0.family) })
    sites = directory.list(for: device)
    self = fitted
  }
}
