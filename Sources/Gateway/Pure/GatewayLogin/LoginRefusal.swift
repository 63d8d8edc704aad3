/// The reason of a refusal, for the audit log alone.
package enum LoginRefusal: UInt8, Hashable, Sendable, CaseIterable {
  case unknownName = 1
  case wrongPassword = 2
  case lockedUser = 3
  case noPassword = 4
  case wrongCode = 5
  case wrongToken = 6
  /// The person said no at the OpenID provider.
  case denied = 7
  /// The name belongs to another person at the OpenID provider, or is checked by another service.
  case otherPerson = 8
  /// The account has ended at the service that checks passwords, or may not be used now.
  case expiredAccount = 9
  /// The password has to be changed there first.
  case expiredPassword = 10
  /// The user has as many devices as a user may add.
  case deviceLimit = 11
  /// The user of the name is not linked to the person of the OpenID provider, or of PAM.
  case notLinked = 12
}
