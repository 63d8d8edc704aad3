internal import CSystemd
internal import Glibc

/// The folder that changes with the sessions of systemd-logind.
package let sessionsFolder = "/run/systemd/sessions"

/// The names of the users who are logged in, ascending, each once: at a seat, at a terminal or over the network, as systemd-logind (or
/// elogind) knows them. Sessions that close, those of a login screen and those of services do not count. `nil`: there is no logind.
package func loggedInUsers() -> [String]? {
  guard access(sessionsFolder, R_OK | X_OK) == 0 else { return nil }
  var sessions: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
  let count = sd_get_sessions(&sessions)
  guard count >= 0 else { return nil }
  defer {
    for i in 0..<Int(count) { free(sessions?[i]) }
    free(sessions)
  }
  let users = (0..<Int(count)).compactMap { i -> String? in
    guard let session = sessions?[i], let kind = word({ sd_session_get_class(session, $0) }), classesOfUsers.contains(kind),
      let state = word({ sd_session_get_state(session, $0) }), state != "closing"
    else { return nil }
    var user: uid_t = 0
    guard sd_session_get_uid(session, &user) >= 0, let account = getpwuid(user) else { return nil }
    return String(cString: account.pointee.pw_name)
  }
  return Set(users).sorted()
}

/// Classes of sessions of people; newer versions of systemd have more than one.
private let classesOfUsers: Set = ["user", "user-early", "user-light"]

private func word(_ get: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32) -> String? {
  var text: UnsafeMutablePointer<CChar>?
  guard get(&text) >= 0, let text else { return nil }
  defer { free(text) }
  return String(cString: text)
}
