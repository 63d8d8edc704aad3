package import KernelModel
package import NetworkTypes

/// The gateway at one moment, as `status` shows it.
package struct GatewayStatus: Hashable, Sendable {
  package var directory: Directory
  /// Whether a gateway runs.
  package var isServing: Bool
  /// The link's device; `nil`: there is none, or access is denied.
  package var device: WireGuardState?
  /// The TCP port at which datagrams are relayed; `nil`: they are not.
  package var relayPort: UInt16?
  /// The store's server is away; `nil`: it answers.
  package var away: StoreAbsence?
  /// The differences between the running gateway and what commands mean.
  package var unserved: UnservedSettings?
  /// The trial of files in words; `nil`: nothing is on trial.
  package var trial: String?
  /// The time since which peers are connected; empty: not known.
  package var connectedSince: [WireGuardKey: Timestamp] = [:]
  package var now: Timestamp

  package init(directory: Directory, isServing: Bool, device: WireGuardState?, relayPort: UInt16? = nil, now: Timestamp) {
    self.directory = directory
    self.isServing = isServing
    self.device = device
    self.relayPort = relayPort
    self.now = now
  }

  package var lines: [String] {
    guard let site = directory.site else {
      return [directory.sites.isEmpty ? "gateway: not initialised" : "gateway: its key is none that the store has"]
    }
    let peers = peers
    let connected = directory.devices.values.filter { isConnected(peers[$0.publicKey]) }.count
    let serving = isServing ? "serving" : "not serving; start it with `systemctl start roamward-gateway`"
    var lines = [unserved?.description, away?.description].compactMap { $0 }
    lines += [
      "gateway  \(site.endpoint)  link \(site.link)  \(serving)",
      "devices  \(directory.devices.count), \(device == nil ? "the link is not there, or access is denied" : "\(connected) connected")",
    ]
    if let trial { lines.append("files  \(trial)") }
    if let relayPort {
      lines.append("relay  TCP port \(relayPort), \(relayedCount) connected by it")
    }
    if directory.sites.count > 1 { lines += directory.siteList.map { "site  \($0)" } }
    lines += directory.poolList.map { "pool  \($0)" }
    return lines + self.lines(of: directory.devices.values).map { "device  \($0)" }
  }

  /// The number of devices that are connected by TCP.
  var relayedCount: Int {
    let peers = peers
    return directory.devices.values.count { isConnected(peers[$0.publicKey]) && peers[$0.publicKey]?.isRelayed ?? false }
  }

  /// One line for each device that logged in.
  package var sessionLines: [String] {
    let peers = peers
    return sessions(of: directory.devices.values).map { path, device, login in
      "\(path)  \(state(device, peers[device.publicKey]))  \(login.text)"
    }
  }

  /// Those of these devices that logged in, by their paths.
  func sessions(of devices: some Sequence<Device>) -> [(path: DevicePath, device: Device, login: Login)] {
    devices.compactMap { device in
      guard let login = directory.login(of: device.id), let path = directory.path(of: device) else { return nil }
      return (path, device, login)
    }.sorted { $0.path < $1.path }
  }

  /// One line for each of these devices, by their paths.
  func lines(of devices: some Sequence<Device>) -> [String] {
    let peers = peers
    return devices.compactMap { device in directory.path(of: device).map { ($0, device) } }.sorted { $0.0 < $1.0 }
      .map { "\($0)  \(state($1, peers[$1.publicKey]))" }
  }

  private var peers: [WireGuardKey: WireGuardState.Peer] {
    Dictionary((device?.peers ?? []).map { ($0.publicKey, $0) }) { first, _ in first }
  }

  private func isConnected(_ peer: WireGuardState.Peer?) -> Bool { peer?.isConnected(at: now) ?? false }

  /// The number of these devices that are connected.
  package func countConnected(_ devices: [Device]) -> Int {
    let peers = peers
    return devices.count { isConnected(peers[$0.publicKey]) }
  }

  /// A device's addresses, and whether it is connected: since when, from where, with how many bytes.
  private func state(_ device: Device, _ peer: WireGuardState.Peer?) -> String {
    let addresses = directory.addresses(of: device.id).map(\.description).joined(separator: ", ")
    let state = connection(of: device, peer)
    guard state.isKnown, let peer, let handshake = peer.handshake else { return "\(addresses)  \(state.rawValue)" }
    let age = "handshake \(max(0, now.seconds - handshake.seconds)) s ago"
    let endpoint = peer.isRelayed ? "  by TCP" : peer.endpoint.map { "  from \($0)" } ?? ""
    return "\(addresses)  \(state.rawValue)\(endpoint)  \(age)  received \(peer.receivedBytes)  sent \(peer.sentBytes)"
  }

  /// Whether a device is connected.
  package enum Connection: String, Hashable, Sendable {
    /// The user is locked, or the account has ended.
    case refused
    /// An administrator has ended the session: the device has to log in again.
    case ended = "session ended"
    /// No handshake since it was added.
    case neverSeen = "never seen"
    /// The last handshake is younger than a session can be.
    case connected
    /// No handshake lately.
    case away

    var isKnown: Bool { self == .connected || self == .away }
  }

  /// `peer`: the device's, as the engine reports it.
  package func connection(of device: Device, _ peer: WireGuardState.Peer?) -> Connection {
    if !directory.isActive(device, at: now) {
      return directory.users[device.user]?.isActive(at: now) ?? false ? .ended : .refused
    }
    guard peer?.handshake != nil else { return .neverSeen }
    return isConnected(peer) ? .connected : .away
  }
}

extension WireGuardState.Peer {
  /// The time of the last handshake; `nil`: there was none.
  package var handshake: Timestamp? { lastHandshake > 0 ? Timestamp(seconds: lastHandshake) : nil }
}

extension Login {
  /// `login 2026-11-26T23:50:27.000Z by password,code from 198.51.100.23`, with the end of the session.
  var text: String {
    "login \(proven) by \(factors) from \(source)" + (ended.map { "  ended \($0)" } ?? "")
  }
}
