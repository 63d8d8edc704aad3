package import NetworkTypes

/// A person as an OpenID provider or a PAM service has told of, in the words of this gateway.
package struct SignedInPerson: Hashable, Sendable {
  /// `ISSUER SUBJECT`, the only words that stay the same (OpenID Connect Core 1.0, 5.7); or `pam SERVICE NAME`.
  package var subject: String
  /// The name there. The person may have chosen it.
  package var name: GatewayName
  /// The groups whose members the provider decides on, each with whether this person is one.
  package var groups: [GatewayName: Bool]

  package init(subject: String, name: GatewayName, groups: [GatewayName: Bool] = [:]) {
    self.subject = subject
    self.name = name
    self.groups = groups
  }

  /// The command that links the user of this name to the person.
  var linkCommand: String {
    let words = subject.split(separator: " ").map(String.init)
    let option = words.first == "pam" ? "--pam=\(words.last ?? "")" : "--openid=\(Self.quoted(words.dropFirst().joined(separator: " ")))"
    return "roamward-gateway user set \(name) \(option)"
  }

  /// As a shell reads it.
  private static func quoted(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) || "._@:+/=-".utf8.contains(byte)
    }
    return isPlain ? text : "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}

/// The reason why a person of an OpenID provider or a PAM service may not log in here.
package enum SignInRefusal: Hashable, Sendable {
  case unknownName
  case lockedUser
  /// The user of the name is linked to another person.
  case otherPerson
  /// The user of the name is linked to no person.
  case notLinked

  /// For the audit log: who was refused, and what an administrator can do.
  package func detail(_ person: SignedInPerson) -> String {
    switch self {
    case .unknownName: "there is no user \(person.name) for \(person.subject)"
    case .lockedUser: ""
    case .otherPerson: "user \(person.name) is linked to another person than \(person.subject)"
    case .notLinked:
      "user \(person.name) exists and is not linked to \(person.subject); only if this person is \(person.name): `\(person.linkCommand)`"
    }
  }
}

extension Directory {
  /// The user that is linked to a person. A name does not find the user: the person may have chosen it.
  package func user(of person: SignedInPerson) -> User? { users.values.first { $0.subject == person.subject } }

  /// The reason why a person may not log in; `nil`: the login is allowed. `creating`: a user whose name is free is added.
  package func refusal(of person: SignedInPerson, creating: Bool, at now: Timestamp) -> SignInRefusal? {
    if let user = user(of: person) { return user.isActive(at: now) ? nil : .lockedUser }
    guard let user = user(named: person.name) else { return creating ? nil : .unknownName }
    return user.subject == nil ? .notLinked : .otherPerson
  }
}

extension Administration {
  /// Takes over what the provider says of a person: the user is added if `creating` and the name is free, and is in those groups alone of
  /// which the provider decides.
  package mutating func signIn(_ person: SignedInPerson, creating: Bool) throws(GatewayError) -> User {
    guard directory.refusal(of: person, creating: creating, at: now) == nil else { throw GatewayError.loginEnded }
    if directory.user(of: person) == nil {
      try addUser(person.name)
      try link(person.name, to: person.subject)
    }
    guard let user = directory.user(of: person) else { throw GatewayError.loginEnded }
    // A group that is missing is a mistake that the doctor tells of, and no reason to keep the person out.
    for (group, isMember) in person.groups.sorted(by: { $0.key < $1.key }) where directory.group(named: group) != nil {
      // A file has the last word on its groups.
      if !directory.marks.marks(of: DeclaredSubject(.members, group.description)).isEmpty { continue }
      try setMember(isMember, user.name, of: group)
    }
    return user
  }

  /// Links a user to a person, who logs in as this user from then on. `proof`: how a login has shown who this is.
  package mutating func link(_ name: GatewayName, to subject: String, by proof: String? = nil) throws(GatewayError) {
    directory.requireAll()
    var user = try user(name)
    if user.subject == subject { return }
    if let other = directory.users.values.first(where: { $0.subject == subject }) {
      throw GatewayError("this person is user \(other.name)", help: "`roamward-gateway user set \(other.name) --no-identity` forgets that")
    }
    if let other = user.subject {
      throw GatewayError(
        "user \(name) is linked to another person: \(other)", help: "`roamward-gateway user set \(name) --no-identity` forgets that person")
    }
    user.subject = subject
    put(.user(user))
    record("user link", name, subject + (proof.map { ", by \($0)" } ?? ""))
  }

  /// Forgets which person a user is. No other person gets the user by that.
  package mutating func removeSubject(of name: GatewayName) throws(GatewayError) {
    var user = try user(name)
    guard user.subject != nil else { return }
    user.subject = nil
    put(.user(user))
    record("user unlink", name)
  }
}
