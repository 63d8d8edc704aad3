internal import GatewayCore
internal import GatewayLogin
internal import LinuxIO
internal import Lives
internal import NetworkTypes
internal import SystemdIO

/// The examination of sign-ins at an OpenID provider: the settings, their files, and the provider, which is asked.
enum OpenIDExamination {
  /// The longest wait for the provider.
  private static let patience = Duration.seconds(25)

  /// The problems, each with its cure; none also if there are no settings.
  static func problems(_ folder: StateFolder, _ directory: Directory) -> [String] {
    do {
      guard let settings = try folder.openIDSettings() else { return [] }
      var problems = settings.groups.filter { directory.group(named: $0.group) == nil }.map {
        "openid: there is no group \($0.group), whose members the provider should decide on\n  help: roamward-gateway group add \($0.group)"
      }
      if try folder.loginIdentity() == nil {
        problems.append("openid: there are no logins\n  help: roamward-gateway login enable")
      }
      _ = try OpenIDFiles.client(settings)
      if let fault = try ask(settings) { problems.append("openid: \(fault)\n  help: see `roamward-gateway login openid show`") }
      return problems
    } catch { return ["\(error)"] }
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
