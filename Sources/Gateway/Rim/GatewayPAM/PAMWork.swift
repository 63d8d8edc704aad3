internal import CPAM
internal import GatewayCore
internal import GatewayLogin
internal import Glibc
package import LinuxIO
internal import LoginProtocol
internal import NetworkTypes
internal import ProcessConfinement

/// The work of `roamward-gateway-pam`: one check of a password by a PAM service, without privileges. Modules block, so it does too; the
/// gateway ends a process that takes too long.
package final class PAMWork {
  /// Its user may be given files with secrets, such as that of pam_radius_auth.
  private static let worker = ConfinedWorker(
    user: "roamward-pam", descriptors: 64, memory: 128 << 20, folders: PAMLimits.folders, filter: PAMFilter.filter)
  /// Until the gateway says something; it has shorter limits of its own.
  private static let patience = Duration.seconds(150)

  private let channel: MessageChannel

  private init(_ channel: MessageChannel) { self.channel = channel }

  /// Takes the gateway's channel, confines itself, makes the check, and ends. Errors are reported to the gateway too.
  package static func run() throws(SystemError) {
    // A module that writes to the descriptors 0 to 3 reaches nothing.
    try ConfinedWorker.onChannel(isHidden: true, hello: { PAMReport.hello(trouble: $0).frame.bytes }) { channel throws(SystemError) in
      try worker.confine(withParent: true)
      try channel.send(PAMReport.hello(trouble: nil).frame.bytes)
      try PAMWork(channel).work()
    }
  }

  /// Confines itself as for the gateway, and ends: tests whether that is possible here.
  package static func check() throws(SystemError) { try worker.confine(withParent: false) }

  private func work() throws(SystemError) {
    guard case .check(let service, let user, let password, let source)? = try next() else { return }
    // A NUL would end the password for a module.
    if password.contains(0) { return report(.refused(.wrongPassword)) }
    let conversation = PAMConversation(password: password) { [self] text, echo in
      report(.prompt(text: text, echo: echo))
      guard case .answer(let value)? = (try? next()) ?? nil else { return nil }
      return value
    }
    report(conversation.withStructure { check(service, user.description, source, conversation, $0) })
  }

  /// `nil`: the gateway has no more orders.
  private func next() throws(SystemError) -> PAMOrder? {
    guard channel.wait(atMost: Self.patience), case .message(let bytes, _) = try channel.receive() else { return nil }
    return try? PAMOrder(LoginFrame(body: bytes.dropFirst(2)))
  }

  private func report(_ report: PAMReport) { try? channel.send(report.frame.bytes) }
}

// The check.
extension PAMWork {
  private func check(
    _ service: String, _ user: String, _ source: IPAddress, _ conversation: PAMConversation, _ structure: UnsafePointer<pam_conv>
  ) -> PAMReport {
    let flags = Int32(bitPattern: PAM_DISALLOW_NULL_AUTHTOK)
    var found: OpaquePointer?
    guard pam_start(service, user, structure, &found) == PAM_SUCCESS, let handle = found else {
      return .unavailable("libpam does not start")
    }
    var result = roamward_pam_without_pause(handle)
    if result == PAM_SUCCESS { result = source.description.withCString { pam_set_item(handle, PAM_RHOST, $0) } }
    if result == PAM_SUCCESS { result = pam_authenticate(handle, flags) }
    let isRight = result == PAM_SUCCESS
    if isRight { result = pam_acct_mgmt(handle, flags) }
    let reason = pam_strerror(handle, result).map { PAMReport.printable(String(cString: $0)) } ?? "error \(result)"
    // A module may give the login to another user (pam_set_item(3)).
    let isSame = result != PAM_SUCCESS || name(handle) == user
    _ = pam_end(handle, result)
    if !isSame { return .unavailable("the service \(service) has changed the name of the user; that is not supported") }
    if result == PAM_SUCCESS { return .accepted(notes: conversation.notes) }
    let said = conversation.notes.isEmpty ? "" : " (\(conversation.notes.split(separator: "\n").joined(separator: "; ")))"
    return Self.refusal(result, isRight: isRight).map { .refused($0) } ?? .unavailable(PAMReport.printable("\(reason)\(said)"))
  }

  private func name(_ handle: OpaquePointer) -> String? {
    var item: UnsafeRawPointer?
    guard pam_get_item(handle, PAM_USER, &item) == PAM_SUCCESS, let item else { return nil }
    return String(cString: item.assumingMemoryBound(to: CChar.self))
  }

  /// Of results of libpam that are a no; `nil`: they are a failure.
  private static func refusal(_ result: Int32, isRight: Bool) -> LoginRefusal? {
    switch result {
    case PAM_AUTH_ERR, PAM_CRED_INSUFFICIENT: .wrongPassword
    case PAM_USER_UNKNOWN: isRight ? .lockedUser : .unknownName
    case PAM_MAXTRIES, PAM_PERM_DENIED: .lockedUser
    case PAM_ACCT_EXPIRED: .expiredAccount
    case PAM_NEW_AUTHTOK_REQD, PAM_AUTHTOK_EXPIRED, PAM_CRED_EXPIRED: .expiredPassword
    default: nil
    }
  }
}
