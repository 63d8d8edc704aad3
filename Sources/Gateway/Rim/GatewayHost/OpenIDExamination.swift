internal import GatewayCore
internal import GatewayLogin
internal import HostFindings
internal import LinuxIO
internal import Lives
internal import NetworkTypes
internal import SystemdIO

/// The examination of sign-ins at an OpenID provider: the settings, their files, and the provider, which is asked.
enum OpenIDExamination {
  /// The longest wait for the provider.
  private static let patience = Duration.seconds(25)

  /// The findings; none also if there are no settings.
  static func findings(_ folder: StateFolder, _ directory: Directory) -> [HostFinding] {
    do {
      guard let settings = try folder.openIDSettings() else { return [] }
      var findings = settings.groups.filter { directory.group(named: $0.group) == nil }.map {
        HostFinding(
          "openid", .problem, "openid: there is no group \($0.group), whose members the provider should decide on",
          cure: "roamward-gateway group add \($0.group)")
      }
      if try folder.loginIdentity() == nil {
        findings.append(HostFinding("openid", .problem, "openid: there are no logins", cure: "roamward-gateway set logins on"))
      }
      _ = try OpenIDFiles.client(settings)
      if let fault = try ask(settings) {
        findings.append(HostFinding("openid", .problem, "openid: \(fault)", cure: "see `roamward-gateway export`"))
      }
      return findings
    } catch let error as GatewayError {
      return [HostFinding("openid", error)]
    } catch { return [HostFinding("openid", .problem, "\(error)")] }
  }

  /// The problem of the provider; `nil`: none.
  private static func ask(_ settings: OpenIDSettings) throws -> String? {
    let loop = try EventLoop()
    let service = OpenIDService(on: loop) { _ in }
    var fault: String? = "the provider has not answered for \(patience.components.seconds) s"
    let limit = try loop.at(.now + patience) { loop.stop() }
    let isBegun = service.begin(settings, LifeToken(), isCheck: true) { report in
      if case .failed(_, let text) = report { fault = text } else { fault = nil }
      loop.stop()
    }
    guard isBegun else { return fault }
    _ = try withExtendedLifetime((limit, service)) { try loop.run() }
    return fault
  }
}
