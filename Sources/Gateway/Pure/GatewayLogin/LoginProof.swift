package import GatewayCore
package import Lives
package import LoginProtocol
package import NetworkTypes

/// The proofs of one conversation, as the gateway knows them, and what it may ask next.
struct LoginProof {
  enum Phase {
    /// Nothing is proven yet, and nothing is under way.
    case open
    /// The password of this name comes next, and a service of the network checks it.
    case named(GatewayName)
    /// That service checks it.
    case checking(Check)
    /// The person is at the OpenID provider.
    case signingIn(SignIn)
    /// A service has named the person, who is looked up or added in the store.
    case entering
    /// The conversation has the credential of this account, or has proven it at a service. `hasCode`: its one-time code is right.
    case account(LoginAccount, hasCode: Bool)
    /// The device is added to the store.
    case binding(LoginBinding)
    /// Nothing follows.
    case over
  }

  /// A check by a service of the network.
  struct Check {
    let attempt: LifeToken
    let settings: PAMSettings
    /// `nil`: a name without a user, after the gateway itself has refused a password.
    let name: GatewayName?
  }

  struct SignIn {
    let attempt: LifeToken
    let settings: OpenIDSettings
    let source: IPAddress
  }

  var phase = Phase.open
  /// A sign-in that a proof may link to a user. Unless a device is bound behind it, it is refused in the end.
  var unlinked: UnlinkedSignIn?
  /// Since the first check; `nil`: there was none, or the person was asked something since, so that its duration says nothing.
  var since: Moment?

  /// The attempt at a service that is under way, with the effect that ends it.
  var cancellation: LoginProofEffect? {
    switch phase {
    case .checking(let check): .cancelCheck(check.attempt)
    case .signingIn(let signIn): .cancelSignIn(signIn.attempt)
    case .open, .named, .entering, .account, .binding, .over: nil
    }
  }

  /// The account behind which a device may be bound; `nil`: there is none, or its one-time code is missing.
  var provenAccount: LoginAccount? {
    guard case .account(let account, let hasCode) = phase, hasCode || !account.needsCode else { return nil }
    return account
  }
}

/// A sign-in at the OpenID provider by a person who is no user yet.
package struct UnlinkedSignIn: Hashable, Sendable {
  package let person: SignedInPerson
  package let refusal: SignInRefusal
  package let source: IPAddress
}

/// A device that is to be added behind a proven account.
package struct LoginBinding: Hashable, Sendable {
  package let account: LoginAccount
  /// The user's name, for the audit log.
  package let userName: String
  package let device: GatewayName
  /// As the client has sent it.
  package let publicKey: [UInt8]
  package let factors: [LoginMethod]
  package let source: IPAddress
  /// The person whose sign-in is linked to the user with it.
  package let person: SignedInPerson?
  /// Since the first check, if its duration is to be counted.
  let since: Moment?
}

/// An action that the proofs of conversations ask of the gateway around them.
package enum LoginProofEffect: Hashable, Sendable {
  case send(AuthReply)
  /// Begins a sign-in at the OpenID provider; reports come with the attempt.
  case signIn(LifeToken, OpenIDSettings, conversation: UInt32)
  case cancelSignIn(LifeToken)
  /// Has a service check a password; `nil`: a random one of a name without a user. Reports come with the attempt.
  case check(LifeToken, PAMSettings, conversation: UInt32, GatewayName?, password: [UInt8], source: IPAddress)
  case answerPrompt(LifeToken, [UInt8])
  case cancelCheck(LifeToken)
  /// Looks at a one-time or recovery code. Its result, as those of the next ones, comes by `finish`.
  case checkCode(conversation: UInt32, user: Int64, [UInt8])
  case setPassword(conversation: UInt32, user: Int64, hash: String)
  /// Takes over what a service says of the person. `banner`: the questions of the account that follow its code.
  case enter(conversation: UInt32, SignedInPerson, creating: Bool, banner: [LoginAccount.Question])
  case bind(conversation: UInt32, LoginBinding)
  /// A device is bound. `milliseconds`: since the first check, where no person was asked meanwhile.
  case count([LoginMethod], milliseconds: Int64?)
  /// For the audit log.
  case record(LoginRefusal, name: String, source: IPAddress, detail: String)
  /// A service cannot be used.
  case logFailure(String)
}

/// The gateway's state, as logins need it at one moment.
package struct LoginView {
  package var directory: Directory
  /// Whether the store cannot be read: then every login is refused, with any name.
  package var isAway: Bool
  package var openID: OpenIDSettings?
  package var pam: PAMSettings?
  /// The text that every person has to accept; read when it is needed.
  package var banner: () -> String?
  package var now: Timestamp
  package var moment: Moment

  package init(
    _ directory: Directory, isAway: Bool = false, openID: OpenIDSettings? = nil, pam: PAMSettings? = nil,
    banner: @escaping () -> String? = { nil }, now: Timestamp, moment: Moment
  ) {
    self.directory = directory
    self.isAway = isAway
    self.openID = openID
    self.pam = pam
    self.banner = banner
    self.now = now
    self.moment = moment
  }

  var bannerQuestions: [LoginAccount.Question] { banner().map { [.banner($0)] } ?? [] }

  /// Together with what a service has to say to the person, as far as it fits.
  func bannerQuestions(with notes: String) -> [LoginAccount.Question] {
    guard !notes.isEmpty else { return bannerQuestions }
    guard let own = banner() else { return [.banner(notes)] }
    return [.banner("\(PAMReport.printable(notes, limit: max(0, GatewayMessage.textLimit - own.utf8.count - 1)))\n\(own)")]
  }

  func questions(of credential: Credential?) -> [LoginAccount.Question] {
    guard let credential else { return bannerQuestions }
    return (credential.codeSecret.isEmpty ? [] : [.code]) + (credential.mustChange ? [.newPassword] : []) + bannerQuestions
  }
}

extension LoginRefusal {
  init(_ refusal: SignInRefusal) {
    switch refusal {
    case .unknownName: self = .unknownName
    case .lockedUser: self = .lockedUser
    case .otherPerson: self = .otherPerson
    case .notLinked: self = .notLinked
    }
  }
}
