internal import GatewayCore
internal import GatewayLogin
internal import HostFindings
internal import LinuxIO
internal import Lives
internal import NetworkTypes
internal import SystemdIO

/// The examination of checks by PAM: the settings, the service's files, and the service itself, which is asked for a name that does not
/// exist.
enum PAMExamination {
  /// The findings; none also if there are no settings.
  static func findings(_ folder: StateFolder) -> [HostFinding] {
    do {
      guard let settings = try folder.pamSettings() else { return [] }
      var findings: [HostFinding] = []
      if try folder.loginIdentity() == nil {
        findings.append(HostFinding("pam", .problem, "pam: there are no logins", cure: "roamward-gateway set logins on"))
      }
      try PAMFiles.check(settings)
      if let fault = try ask(settings) {
        findings.append(
          HostFinding(
            "pam", .problem, "pam: the service \(settings.service) cannot be used: \(fault)",
            cure: "see its modules' messages in the journal"))
      }
      return findings
    } catch let error as GatewayError {
      return [HostFinding("pam", error)]
    } catch { return [HostFinding("pam", .problem, "\(error)")] }
  }

  /// The problem of the service; `nil`: none. The process has its own time limit.
  private static func ask(_ settings: PAMSettings) throws -> String? {
    guard let name = GatewayName("roamward-doctor"), let source = IPAddress("127.0.0.1") else { return nil }
    let loop = try EventLoop()
    let service = PAMService(on: loop)
    var fault: String?
    let isBegun = try service.begin(settings, name, PAMService.randomPassword, LifeToken(), from: source) { report in
      switch report {
      case .accepted: fault = "it accepts any name with any password"
      case .unavailable(let text): fault = text
      case .hello, .prompt, .refused: break
      }
      loop.stop()
    }
    guard isBegun else { return nil }
    _ = try withExtendedLifetime(service) { try loop.run() }
    return fault
  }
}
