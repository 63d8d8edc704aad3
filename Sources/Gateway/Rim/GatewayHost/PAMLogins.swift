internal import GatewayCore
internal import GatewayLogin
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes
internal import SystemdIO

/// The checks by PAM of logins: whose password is checked there, and by which conversation.
final class PAMLogins {
  let service: PAMService
  private(set) var settings: PAMSettings?
  private var trouble: String?
  private let log: (String) -> Void
  private var names: [UInt32: GatewayName] = [:]
  /// The checks of conversations, by the service's numbers.
  private var checks: [UInt32: UInt32] = [:]

  init(on loop: EventLoop, log: @escaping (String) -> Void) {
    service = PAMService(on: loop)
    self.log = log
  }

  /// Reads the settings; returns whether they are others. A service that is not possible is not used.
  func refresh(_ folder: StateFolder) -> Bool {
    var (found, trouble): (PAMSettings?, String?)
    do {
      found = try folder.pamSettings()
      if let found, found != settings || self.trouble != nil { try PAMFiles.check(found) }
    } catch {
      trouble = "\(error)"
      found = nil
    }
    if let trouble, trouble != self.trouble { log("logins: \(trouble)") }
    self.trouble = trouble
    guard found != settings else { return false }
    settings = found
    return true
  }

  func stop() {
    service.stop()
    (names, checks) = ([:], [:])
  }

  func end(_ number: UInt32) {
    names[number] = nil
    if let check = checks.removeValue(forKey: number) { service.cancel(check) }
  }

  /// Takes a conversation whose name is checked by PAM; `false`: it has asked for a name before.
  func await(_ name: GatewayName, _ number: UInt32) -> Bool {
    guard names[number] == nil, names.count <= LoginDesk.capacity else { return false }
    names[number] = name
    return true
  }

  /// Begins the check of the name that was asked for; `nil`: it has begun.
  func begin(
    _ password: [UInt8], _ number: UInt32, from source: IPAddress, then: @escaping (PAMReport, GatewayName, PAMSettings) -> Void
  ) -> LoginAnswer? {
    // One password a conversation.
    guard let settings, let name = names.removeValue(forKey: number), checks[number] == nil else { return .unavailable }
    return begin(settings, name, password, number, from: source) { then($0, name, settings) }
  }

  /// A name that has no user anywhere.
  static let decoy = GatewayName("roamward-decoy")

  /// Begins a check of that name with a random password; `nil`: it has begun.
  func beginDecoy(_ number: UInt32, from source: IPAddress, then: @escaping (PAMReport, PAMSettings) -> Void) -> LoginAnswer? {
    // PAM is used no longer.
    guard let settings, let name = Self.decoy else { return .refused(.wrongPassword) }
    guard names[number] == nil, checks[number] == nil else { return .unavailable }
    var generator = SystemRandomNumberGenerator()
    let password = (0..<24).map { _ in UInt8.random(in: 0x61...0x7a, using: &generator) }
    return begin(settings, name, password, number, from: source) { then($0, settings) }
  }

  private func begin(
    _ settings: PAMSettings, _ name: GatewayName, _ password: [UInt8], _ number: UInt32, from source: IPAddress,
    then: @escaping (PAMReport) -> Void
  ) -> LoginAnswer? {
    do throws(SystemError) {
      let check = try service.begin(settings, name, password, from: source) { [weak self] report in
        if case .prompt = report {} else { self?.checks[number] = nil }
        then(report)
      }
      guard let check else { return .busy }
      checks[number] = check
      return nil
    } catch {
      log("logins: \(error)")
      return .unavailable
    }
  }

  /// The answer to a prompt; `false`: nothing was asked, or the check has ended.
  func answer(_ value: [UInt8], _ number: UInt32) -> Bool {
    guard let check = checks[number] else { return false }
    service.answer(value, check)
    return true
  }
}
