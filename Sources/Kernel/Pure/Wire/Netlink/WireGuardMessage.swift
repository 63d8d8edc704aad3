package import KernelModel
import KeyMemory
import NetworkTypes

/// The generic netlink family of linux/wireguard.h.
package enum WireGuardMessage {
  package static let family = "wireguard"
  static let version: UInt8 = 1
  static let getDevice: UInt8 = 0
  static let setDevice: UInt8 = 1

  /// `WGDEVICE_A_*`.
  enum Device {
    static let name: UInt16 = 2
    static let privateKey: UInt16 = 3
    static let publicKey: UInt16 = 4
    static let flags: UInt16 = 5
    static let listenPort: UInt16 = 6
    static let firewallMark: UInt16 = 7
    static let peers: UInt16 = 8
  }

  /// `WGPEER_A_*`.
  enum Peer {
    static let publicKey: UInt16 = 1
    static let presharedKey: UInt16 = 2
    static let flags: UInt16 = 3
    static let endpoint: UInt16 = 4
    static let keepalive: UInt16 = 5
    static let lastHandshake: UInt16 = 6
    static let received: UInt16 = 7
    static let sent: UInt16 = 8
    static let allowedIPs: UInt16 = 9
  }

  /// `WGALLOWEDIP_A_*`.
  enum AllowedIP {
    static let family: UInt16 = 1
    static let address: UInt16 = 2
    static let length: UInt16 = 3
  }
}

/// Assembles the state of a device from several messages: a peer with many allowed IPs continues in the next one.
package struct WireGuardStateReader: Sendable {
  /// `nil` before the first answer.
  package private(set) var state: WireGuardState?

  package init() {}

  /// Takes one answer to `WG_CMD_GET_DEVICE`; ignores anything else.
  package mutating func read(_ message: NetlinkMessage) {
    guard message.payload.byte(at: 0) == WireGuardMessage.getDevice else { return }
    var state = self.state ?? WireGuardState(engine: .kernel)
    for attribute in NetlinkAttributes(message.payload, after: 4) {
      switch attribute.type {
      case WireGuardMessage.Device.publicKey: state.publicKey = WireGuardKey(attribute)
      case WireGuardMessage.Device.listenPort: state.listenPort = attribute.payload.host16() ?? 0
      case WireGuardMessage.Device.firewallMark: state.firewallMark = attribute.payload.host32() ?? 0
      case WireGuardMessage.Device.peers:
        for part in attribute.nested { state.addPeer(part.nested) }
      default: continue
      }
    }
    self.state = state
  }
}

extension WireGuardState {
  fileprivate mutating func addPeer(_ attributes: NetlinkAttributes) {
    guard let key = attributes.first(WireGuardMessage.Peer.publicKey).flatMap(WireGuardKey.init(_:)) else { return }
    var peer = Peer(publicKey: key)
    for attribute in attributes {
      switch attribute.type {
      case WireGuardMessage.Peer.presharedKey: peer.presharedKey = SecretKey(attribute)
      case WireGuardMessage.Peer.endpoint: peer.endpoint = Endpoint(socketAddress: attribute.payload)
      case WireGuardMessage.Peer.keepalive: peer.persistentKeepalive = attribute.payload.host16() ?? 0
      // struct __kernel_timespec: seconds i64, nanoseconds i64.
      case WireGuardMessage.Peer.lastHandshake: peer.lastHandshake = attribute.payload.host64().map { Int64(bitPattern: $0) } ?? 0
      case WireGuardMessage.Peer.received: peer.receivedBytes = attribute.payload.host64() ?? 0
      case WireGuardMessage.Peer.sent: peer.sentBytes = attribute.payload.host64() ?? 0
      case WireGuardMessage.Peer.allowedIPs: peer.allowedIPs += attribute.nested.compactMap { IPPrefix(allowedIP: $0.nested) }
      default: continue
      }
    }
    if let last = peers.last, last.publicKey == key {
      peers[peers.count - 1].allowedIPs += peer.allowedIPs
    } else {
      peers.append(peer)
    }
  }
}

extension WireGuardKey {
  /// All zero means no key.
  fileprivate init?(_ attribute: NetlinkAttribute) {
    guard attribute.payload.contains(where: { $0 != 0 }) else { return nil }
    self.init(bytes: Array(attribute.payload))
  }
}

extension SecretKey {
  /// All zero means no key.
  fileprivate init?(_ attribute: NetlinkAttribute) {
    self.init(bytes: attribute.payload)
    if isZero { return nil }
  }
}

extension IPPrefix {
  fileprivate init?(allowedIP attributes: NetlinkAttributes) {
    guard let address = attributes.first(WireGuardMessage.AllowedIP.address).flatMap({ IPAddress(network: $0.payload) }),
      let length = attributes.first(WireGuardMessage.AllowedIP.length)?.payload.byte(at: 0)
    else { return nil }
    self.init(address, length: Int(length))
  }
}

extension Endpoint {
  /// From `struct sockaddr_in` (family u16, port u16, address) or `sockaddr_in6` (family, port, flow u32, address, scope u32).
  init?(socketAddress bytes: ArraySlice<UInt8>) {
    guard let family = bytes.host16().flatMap({ IPAddress.Family(addressFamily: $0) }), let port = bytes.network16(at: 2), port != 0,
      let address = IPAddress(network: family == .v4 ? bytes.dropFirst(4).prefix(4) : bytes.dropFirst(8).prefix(16), family)
    else { return nil }
    self.init(host: .address(address), port: port)
  }

  /// The inverse; `nil` for a host that is a name.
  var socketAddress: [UInt8]? {
    guard let address else { return nil }
    var writer = NetlinkWriter()
    writer.host16(UInt16(address.family.addressFamily))
    writer.network(UInt64(port), count: 2)
    if address.family == .v6 { writer.host32(0) }
    writer.raw(address)
    writer.raw([UInt8](repeating: 0, count: address.family == .v4 ? 8 : 4))
    return writer.bytes
  }
}

extension NetlinkWriter {
  /// Requests a device. ENODEV: no such link; EOPNOTSUPP: it is no WireGuard link.
  package mutating func dumpWireGuard(link: String, family: UInt16, sequence: UInt32) {
    genericMessage(
      family: family, command: WireGuardMessage.getDevice, version: WireGuardMessage.version, flags: NetlinkMessage.Flag.dump,
      sequence: sequence
    ) { $0.attribute(WireGuardMessage.Device.name, text: link) }
  }
}
