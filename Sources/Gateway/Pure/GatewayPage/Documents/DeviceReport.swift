internal import GatewayCore
internal import JSON
internal import KernelModel
package import NetworkTypes

/// A device in the documents of a gateway: on the page, in `status`, `user show` and `device list --sessions`.
package struct DeviceReport: Hashable, Sendable, Codable {
  package var user: String
  package var device: String
  package var state: String
  package var addresses: [String]
  package var added: Timestamp
  package var endpoint: String?
  package var transport: String?
  package var since: Timestamp?
  package var handshake: Timestamp?
  package var received: Int64
  package var sent: Int64
  package var login: Login?

  private enum CodingKeys: String, DescribedKey {
    case user, device, state, addresses, added, endpoint, transport, since, handshake, received, sent, login

    var about: String {
      switch self {
      case .user: "The user whose device it is."
      case .device: "The name of the device."
      case .state: "Whether it is connected; refused: its user may not connect; session ended: it has to log in again."
      case .addresses: "Its addresses inside the tunnel."
      case .added: "The time at which it was added."
      case .endpoint: "The address and port from which it sends; null: it was not seen, or the relay carries it."
      case .transport: "The transport of its datagrams: udp, or tcp through the relay; null: it was not seen."
      case .since:
        "The time since which the running gateway sees it connected; null: it is not, or a command prints this, which does not know."
      case .handshake: "The time of its last handshake; null: it was not seen."
      case .received: "The bytes that the gateway received from it."
      case .sent: "The bytes that the gateway sent to it."
      case .login: "The login that added it; null: an administrator added it."
      }
    }

    var values: [String]? {
      switch self {
      case .state: ["refused", "session ended", "never seen", "connected", "away"]
      case .transport: ["udp", "tcp"]
      default: nil
      }
    }
  }
}

extension DeviceReport {
  /// A login that bound a device.
  package struct Login: Hashable, Sendable, Codable {
    package var time: Timestamp
    package var factors: String
    package var source: String
    package var ended: Timestamp?

    private enum CodingKeys: String, DescribedKey {
      case time, factors, source, ended

      var about: String {
        switch self {
        case .time: "The time of the login."
        case .factors: "The factors that proved it, joined by commas: password, code, token, openid, pam."
        case .source: "The address from which it came."
        case .ended: "The time at which an administrator ended the session; null: it goes on."
        }
      }
    }
  }
}

extension GatewayStatus {
  /// The reports of devices, sorted by their paths.
  func reports(of devices: some Sequence<Device>) -> [DeviceReport] {
    let peers = Dictionary((device?.peers ?? []).map { ($0.publicKey, $0) }) { first, _ in first }
    let found = devices.compactMap { device in directory.path(of: device).map { ($0, device) } }
    return found.sorted { $0.0 < $1.0 }.map { path, device in
      let peer = peers[device.publicKey]
      let seen = peer.flatMap { $0.handshake == nil ? nil : $0 }
      return DeviceReport(
        user: path.user.description, device: path.device.description, state: connection(of: device, peer).rawValue,
        addresses: directory.addresses(of: device.id).map(\.description), added: device.added,
        endpoint: seen.flatMap { $0.isRelayed ? nil : $0.endpoint?.description },
        transport: seen.map { $0.isRelayed ? "tcp" : "udp" }, since: connectedSince[device.publicKey], handshake: seen?.handshake,
        received: Int64(clamping: seen?.receivedBytes ?? 0), sent: Int64(clamping: seen?.sentBytes ?? 0),
        login: directory.login(of: device.id).map {
          DeviceReport.Login(
            time: $0.proven, factors: $0.factors, source: $0.source, ended: $0.ended)
        })
    }
  }
}
