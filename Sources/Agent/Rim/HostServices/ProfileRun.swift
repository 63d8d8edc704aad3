internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// A VPN or WireGuard profile of NetworkManager.
///
/// Source: D-Bus API reference of NetworkManager: Settings, Settings.Connection, Connection.Active.
final class ProfileRun: ServiceRun {
  private static let service = "org.freedesktop.NetworkManager"
  private static let root = "/org/freedesktop/NetworkManager"
  /// The time in which a profile has to be down after it was asked to.
  private static let patience = Duration.seconds(10)

  private struct Profile {
    let path: String
    let uuid: String
  }

  private let name: String
  private let calls: ServiceCalls
  private let loop: EventLoop
  private var active: String?
  private var isStarted = false
  private var wasRunning = false
  private var timer: EventSource?
  private var news: (ServiceNews) -> Void = { _ in }
  private var stopped: ((String?) -> Void)?

  init(_ name: String, on loop: EventLoop, busAddress: String?) {
    self.name = name
    self.loop = loop
    calls = ServiceCalls(Self.service, on: loop, busAddress: busAddress)
    calls.failed = { [weak self] in self?.failed($0) }
  }

  func start(_ news: @escaping (ServiceNews) -> Void) {
    self.news = news
    open()
  }

  func stop(_ done: @escaping (String?) -> Void) {
    news = { _ in }
    stopped = done
    timer = try? loop.at(.now + Self.patience) { [weak self] in self?.failed("it is not down within \(Self.patience)") }
    open()
  }

  private func open() {
    calls.bus.closed = { [weak self] reason in self?.failed(reason) }
    calls.bus.opened = { [weak self] in self?.find() }
    calls.bus.connect()
  }

  private func failed(_ reason: String?) {
    if let stopped {
      (self.stopped, timer) = (nil, nil)
      return stopped(reason)
    }
    (wasRunning, active) = (false, nil)
    news(.ended(reason: "\(name): \(reason ?? "it has ended")"))
  }

  // MARK: The profile

  private func find() {
    calls.call("\(Self.root)/Settings", ".Settings", "ListConnections") { [weak self] values in
      self?.find(among: (values.first?.list ?? []).compactMap(\.text)[...], found: [])
    }
  }

  private func find(among paths: ArraySlice<String>, found: [Profile]) {
    guard let path = paths.first else { return take(found) }
    calls.call(
      path, ".Settings.Connection", "GetSettings", orElse: { [weak self] _ in self?.find(among: paths.dropFirst(), found: found) }
    ) { [weak self] values in
      guard let self else { return }
      let connection = values.first?["connection"]
      let (id, uuid) = (connection?["id"]?.text ?? "", connection?["uuid"]?.text ?? "")
      var found = found
      if name == id || name == uuid {
        let type = connection?["type"]?.text ?? ""
        guard stopped != nil || ["vpn", "wireguard"].contains(type) else {
          return failed("it is a profile of the type \(type), not of a VPN or of WireGuard")
        }
        found.append(Profile(path: path, uuid: uuid))
      }
      find(among: paths.dropFirst(), found: found)
    }
  }

  private func take(_ found: [Profile]) {
    guard let profile = found.first else {
      return failed(stopped != nil ? nil : "NetworkManager has no such profile; `nmcli connection` lists them")
    }
    guard found.count == 1 || stopped != nil else {
      return failed("NetworkManager has \(found.count) profiles of this name; name it by its UUID (`nmcli connection`)")
    }
    calls.get(Self.root, "", "ActiveConnections") { [weak self] value in
      self?.findActive(of: profile, among: (value?.list ?? []).compactMap(\.text)[...])
    }
  }

  private func findActive(of profile: Profile, among paths: ArraySlice<String>) {
    guard let path = paths.first else {
      if stopped != nil { return failed(nil) }
      if isStarted { return failed("it has ended") }
      return activate(profile)
    }
    calls.get(path, ".Connection.Active", "Uuid") { [weak self] value in
      guard let self else { return }
      if value?.text == profile.uuid { watch(path) } else { findActive(of: profile, among: paths.dropFirst()) }
    }
  }

  // MARK: The active connection

  private func activate(_ profile: Profile) {
    calls.call(Self.root, "", "ActivateConnection", [.path(profile.path), .path("/"), .path("/")]) { [weak self] values in
      guard let path = values.first?.text else { return }
      self?.watch(path)
    }
  }

  private func watch(_ path: String) {
    (active, isStarted) = (path, true)
    calls.match(path, "\(Self.service).Connection.Active", "StateChanged") { [weak self] values in
      guard values.count > 1 else { return }
      self?.take(state: values[0].unsigned ?? 0, reason: values[1].unsigned ?? 0)
    }
    if stopped != nil {
      calls.call(
        Self.root, "", "DeactivateConnection", [.path(path)],
        // It is down already.
        orElse: { [weak self] _ in self?.failed(nil) }, then: { _ in })
    }
    // It may have changed before the match.
    calls.get(path, ".Connection.Active", "State") { [weak self] value in self?.take(state: value?.unsigned ?? 4, reason: 0) }
  }

  /// NMActiveConnectionState.
  private func take(state: UInt64, reason: UInt64) {
    switch state {
    case 2 where stopped == nil && !wasRunning:
      wasRunning = true
      news(.running)
    case 3 where stopped == nil && reason > 1, 4: if active != nil { failed(stopped != nil ? nil : Self.words(reason)) }
    default: break
    }
  }

  /// NMActiveConnectionStateReason.
  private static func words(_ reason: UInt64) -> String {
    switch reason {
    case 2: "a person has disconnected it"
    case 3: "its device was disconnected"
    case 4: "its VPN service has ended; `journalctl -u NetworkManager` shows why"
    case 5: "the server's settings are not usable"
    case 6: "no answer in time"
    case 7, 8: "its VPN service does not start; is its NetworkManager plugin installed?"
    case 9: "it has no password; save it for all users: `nmcli connection modify` with password-flags 0"
    case 10: "the server refused the user name or the password"
    case 11: "the profile was removed"
    case 12: "the connection below it has ended"
    case 13, 14: "its device was removed"
    default: "it has ended; `journalctl -u NetworkManager` shows why"
    }
  }
}
