import KernelModel
package import NetworkTypes

/// The configuration of a stock WireGuard client, as wg-quick(8) and the apps read it.
package struct ClientFile: Hashable, Sendable {
  /// The lines before the private key, and those after it: the key is added at the rim, where it is made.
  package let head: String
  package let tail: String

  package init(_ directory: Directory, _ device: Device) throws(GatewayError) {
    guard let site = directory.site else { throw GatewayError.notInitialised }
    let settings = directory.pushedSettings(of: device)
    let addresses = directory.addresses(of: device.id)
    head = "[Interface]\n"
    var tail = "Address = \(addresses.map { IPPrefix.host($0).description }.joined(separator: ", "))\n"
    let dns = (settings.dns ?? []).map(\.description) + (settings.search ?? []).map(\.text)
    if !dns.isEmpty { tail += "DNS = \(dns.joined(separator: ", "))\n" }
    if let mtu = settings.mtu { tail += "MTU = \(mtu)\n" }
    tail += "\n[Peer]\nPublicKey = \(base64(site.publicKey.bytes))\nEndpoint = \(site.endpoint)\n"
    tail += "AllowedIPs = \(device.routes(in: directory).map(\.description).joined(separator: ", "))\n"
    if let keepalive = settings.keepalive, keepalive > 0 { tail += "PersistentKeepalive = \(keepalive)\n" }
    self.tail = tail
  }

  /// The whole file. `key`: the line's value, or a comment that says where it is.
  package func text(privateKey key: String) -> String { "\(head)PrivateKey = \(key)\n\(tail)" }
}

extension Device {
  /// The prefixes that the device is to send through the tunnel. A route of a family without an address would lead packets nowhere.
  package func routes(in directory: Directory) -> [IPPrefix] {
    let families = Set(directory.addresses(of: id).map(\.family))
    return (directory.pushedSettings(of: self).routes ?? directory.sortedPools.map(\.prefix)).filter { families.contains($0.family) }
  }
}

extension GatewayError {
  package static let notInitialised = GatewayError(
    "the gateway has not been initialised",
    help: "`roamward-gateway init --endpoint HOST:PORT` does that, or a file in /etc/roamward-gateway")
}
