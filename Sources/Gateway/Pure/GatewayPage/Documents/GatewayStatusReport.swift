package import GatewayCore
package import JSON
package import NetworkTypes

/// The output of `roamward-gateway status --json`, which the page shows of all devices, too.
package struct GatewayStatusReport: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var time: Timestamp
  package var endpoint: String?
  package var link: String?
  package var serving: Bool
  package var away: String?
  package var pools: [String]
  package var connected: Int
  package var devices: [DeviceReport]
  package var more: Int

  private enum CodingKeys: String, DescribedKey {
    case version, time, endpoint, link, serving, away, pools, connected, devices, more

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .time: "The time of this report."
      case .endpoint: "The address and port to which clients send; null: the gateway is not initialised."
      case .link: "The network interface of the tunnels; null: the gateway is not initialised."
      case .serving: "Whether the gateway runs."
      case .away: "The reason why the store cannot be read; null: it can."
      case .pools: "The prefixes from which devices get their addresses."
      case .connected: "The number of devices that are connected."
      case .devices: "The devices, sorted by user and name."
      case .more: "The number of devices that are left out, because an answer of the page is bounded; 0 in the output of the command."
      }
    }
  }
}

extension GatewayStatus {
  /// The report of all devices.
  ///
  /// - Parameters:
  ///   - search: those whose path contains it.
  ///   - isConnected: those that are connected now alone.
  ///   - limit: the bytes that the devices may take as JSON.
  package func report(search: String = "", isConnected: Bool = false, within limit: Int = .max) -> GatewayStatusReport {
    let found = reports(of: directory.devices.values)
      .filter { search.isEmpty || "\($0.user)/\($0.device)".contains(search.lowercased()) }
    let connected = found.filter { $0.state == Connection.connected.rawValue }
    let wanted = isConnected ? connected : found
    let (shown, more) = fitting(wanted, within: limit)
    return GatewayStatusReport(
      time: now, endpoint: directory.site?.endpoint.description, link: directory.site?.link.description,
      serving: isServing, away: away?.description, pools: directory.sortedPools.map(\.prefix.description),
      connected: connected.count, devices: shown, more: more)
  }

  /// The devices that logged in, as `device list --sessions --json` prints them.
  package var sessionReports: [DeviceReport] { reports(of: directory.devices.values.filter { directory.login(of: $0.id) != nil }) }
}
