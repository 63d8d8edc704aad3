/// A person as an OpenID provider or a PAM service has told of, in the words of this gateway.
package struct SignedInPerson: Hashable, Sendable {
  /// `ISSUER SUBJECT`, the only words that stay the same (OpenID Connect Core 1.0, 5.7); or `pam SERVICE NAME`.
  package var subject: String
  package var name: GatewayName
  /// The groups whose members the provider decides on, each with whether this person is one.
  package var groups: [GatewayName: Bool]

  package init(subject: String, name: GatewayName, groups: [GatewayName: Bool] = [:]) {
    self.subject = subject
    self.name = name
    self.groups = groups
  }
}

/// Why a person whom the OpenID provider knows may not log in here.
package enum SignInRefusal: Hashable, Sendable {
  case unknownName
  case lockedUser
  /// The name belongs to another person at the provider.
  case otherPerson
}

extension Directory {
  /// The user of a person: the one that has the subject, else the one of the name.
  package func user(of person: SignedInPerson) -> User? {
    users.values.first { $0.subject == person.subject } ?? user(named: person.name)
  }

  /// Why the person may not log in; `nil`: the person may. `creating`: a user who does not exist is added.
  package func refusal(of person: SignedInPerson, creating: Bool, at now: Int64) -> SignInRefusal? {
    guard let user = user(of: person) else { return creating ? nil : .unknownName }
    if let subject = user.subject, subject != person.subject { return .otherPerson }
    return user.isActive(at: now) ? nil : .lockedUser
  }
}

extension Administration {
  /// Takes over what the provider says of a person: the user is added if `creating`, belongs to this person from then on, and is in those
  /// groups alone of which the provider decides.
  package mutating func signIn(_ person: SignedInPerson, creating: Bool) throws(GatewayError) -> User {
    guard directory.refusal(of: person, creating: creating, at: now) == nil else { throw GatewayError.loginEnded }
    if directory.user(of: person) == nil { try addUser(person.name) }
    guard var user = directory.user(of: person) else { throw GatewayError.loginEnded }
    if user.subject == nil {
      user.subject = person.subject
      put(.user(user))
      record("user identity", user.name, person.subject)
    }
    // A group that is missing is a mistake that the doctor tells of, and no reason to keep the person out.
    for (group, isMember) in person.groups.sorted(by: { $0.key < $1.key }) where directory.group(named: group) != nil {
      try setMember(isMember, user.name, of: group)
    }
    return user
  }

  /// Forgets which person at an OpenID provider a name belongs to: the next one who signs in under it gets it.
  package mutating func removeSubject(of name: GatewayName) throws(GatewayError) {
    var user = try user(name)
    guard user.subject != nil else { return }
    user.subject = nil
    put(.user(user))
    record("user identity", name, "removed")
  }
}
