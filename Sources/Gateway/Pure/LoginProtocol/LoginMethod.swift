/// A way to prove who one is, or a question on the way. A client says in its hello which ones it can do. Number 8 is kept for FIDO2.
package enum LoginMethod: UInt8, Hashable, Sendable, CaseIterable {
  /// A name and a password.
  case password = 1
  /// A one-time token for enrolment.
  case token = 2
  /// A one-time code by the time (RFC 6238).
  case code = 3
  /// A text that the person accepts.
  case banner = 4
  /// A new password.
  case newPassword = 5
  /// A sign-in at an OpenID provider, where the person enters a code (RFC 8628).
  case openID = 6
  /// A question of the service that checks the password (PAM).
  case prompt = 7
}

/// The reason why a login was refused, as the client is told. A wrong password, an unknown name and a locked user have the same one.
package enum LoginFailure: UInt8, Hashable, Sendable, CaseIterable {
  /// Name, password, code or token are not accepted.
  case wrong = 1
  /// Too many attempts, or the gateway is busy: to be tried again after the given time.
  case later = 2
  /// The client can do none of the asked methods.
  case unsupported = 3
  /// The versions have none in common.
  case version = 4
  /// The device cannot be added: its key or the gateway's pools do not allow it.
  case device = 5
  /// The gateway cannot answer now: its store is away.
  case unavailable = 6
  /// The client did not follow the format.
  case format = 7
  /// The person took too long.
  case timeout = 8
  /// The user has as many devices as a user may add.
  case deviceLimit = 9
}
