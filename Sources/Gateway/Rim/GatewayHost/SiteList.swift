internal import GatewayCore
internal import GatewayCredentials
internal import GatewayStore
internal import KernelModel
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes

// Several gateways with one store.
extension Directory {
  /// The list of gateways for a device; empty if there is only one. Gateways at which the device has no address are left out.
  func list(for device: Device) -> [GatewaySite] {
    guard sites.count > 1 else { return [] }
    return sortedSites.prefix(GatewaySite.most).compactMap { site in
      let addresses = addresses(of: device.id, at: site)
      guard !addresses.isEmpty else { return nil }
      let families = Set(addresses.map(\.family))
      return GatewaySite(
        name: site.name.description, key: site.publicKey.bytes, endpoint: site.endpoint.description, pin: site.offer.pin,
        relayPort: site.offer.relayPort, addresses: addresses,
        gatewayAddresses: pools(at: site).compactMap { $0.gateway?.address }.filter { families.contains($0.family) })
    }
  }
}

extension StateFolder {
  /// The offer of this gateway to clients of the others.
  var offer: Site.Offer {
    let pin = ((try? loginIdentity()) ?? nil).flatMap { LoginIdentity.pin(of: $0) }
    let bytes = pin.flatMap { NetworkTypes.bytes(fromBase64: String($0.dropFirst("sha256//".count))) } ?? []
    return Site.Offer(pin: bytes, relayPort: bytes.isEmpty ? nil : relayPort())
  }
}

/// Writes what this gateway offers into the store, where other gateways tell their clients of it.
///
/// Once for each change of its own files: two gateways with one key have one row, and would overwrite it in turn for ever otherwise.
struct SitePublisher {
  private var published: Site.Offer?

  /// Returns whether the store has changed.
  mutating func publish(_ folder: StateFolder, _ directory: Directory, to store: GatewayStore) throws(GatewayStore.Refusal) -> Bool {
    guard directory.sites.count > 1, let site = directory.site else { return false }
    let offer = folder.offer
    guard offer != published else { return false }
    if site.offer != offer {
      try store.change(as: "gateway", at: Timestamp.now.wholeSecond, reading: .users([])) { work in work.publish(offer) }
    }
    published = offer
    return site.offer != offer
  }
}
