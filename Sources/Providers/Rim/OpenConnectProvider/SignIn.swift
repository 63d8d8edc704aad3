package import ProviderProtocol

/// The input that openconnect(8) wants at a prompt.
package enum SignInPrompt: Equatable, Sendable {
  case username
  /// The password, or one after it: the label tells.
  case password(String)
  /// The pass phrase of the private key.
  case keyPassword
  /// One of these groups.
  case group([String])
  /// Whether a certificate that no authority vouches for is good.
  case certificate
  /// Anything else, by its label.
  case other(String)

  /// `text`: without line feed, such as `Password:`.
  package init(_ text: String) {
    var label = text[...]
    while label.last == " " || label.last == ":" { label.removeLast() }
    while label.first == " " { label.removeFirst() }
    let small = label.lowercased()
    if small.contains("enter 'yes' to accept") {
      self = .certificate
    } else if label.last == "]", let open = label.lastIndex(of: "[") {
      let choices = label[label.index(after: open)...].dropLast().split(separator: "|").map(String.init)
      self = .group(choices)
    } else if small.contains("pass phrase") || small.contains("passphrase") {
      self = .keyPassword
    } else if small.contains("username") || small.contains("user name") || small == "login" {
      self = .username
    } else if small.contains("password") {
      self = .password(String(label))
    } else {
      self = .other(String(label))
    }
  }
}

/// A person's sign-in: the credentials of the policy, and its progress.
package struct SignIn: Sendable {
  /// The answer to a prompt.
  package enum Answer: Equatable, Sendable {
    case give(String)
    /// A person is asked. `credential`: the name of the file that could have it.
    case ask(Question.Kind, prompt: String, credential: String)
    case fail(TunnelFailure)
  }

  private let username: String?
  private let password: String?
  private let keyPassword: String?
  private let group: String?
  /// Lines of the server since the last answer: what it asks for.
  var notes: [String] = []
  /// Whether the server has been given a password; it asks again after a wrong one.
  private var hasGivenPassword = false
  /// Whether the server has let nobody in.
  var isRefused = false

  package init(username: String?, password: String?, keyPassword: String?, group: String?) {
    self.username = username
    self.password = password
    self.keyPassword = keyPassword
    self.group = group
  }

  /// Another sign-in with the same credentials begins.
  mutating func begin() { self = SignIn(username: username, password: password, keyPassword: keyPassword, group: group) }

  var isPasswordWrong: Bool { isRefused && hasGivenPassword }

  mutating func answer(_ prompt: SignInPrompt, trouble: OpenConnectTrouble?) -> Answer {
    switch prompt {
    case .username:
      return username.map { .give($0) } ?? failure("no-username", "the server asks for a user name: add `username:` to the options")
    case .password(let label):
      let isFirst = !hasGivenPassword
      hasGivenPassword = true
      return secret(isFirst ? password : nil, label, isFirst ? .password : .code, "password")
    case .keyPassword: return secret(keyPassword, "Pass phrase of the private key", .password, "key-password")
    case .group(let groups):
      if let group, groups.contains(group) { return .give(group) }
      let offered = groups.prefix(20).joined(separator: ", ")
      return failure("no-group", "the server asks for a group: add `group:` to the options, one of \(offered)")
    case .certificate: return failure("certificate-unknown", trouble?.text ?? "no authority vouches for the server")
    case .other(let label): return secret(nil, label, .code, "password")
    }
  }

  /// A secret that is known, or a question with the server's own words, in one line.
  private func secret(_ known: String?, _ label: String, _ kind: Question.Kind, _ credential: String) -> Answer {
    if let known { return .give(known) }
    let words = (notes.suffix(1) + [label]).joined(separator: " ").prefix(300)
    return .ask(kind, prompt: String(words), credential: credential)
  }

  private func failure(_ code: Word, _ text: String) -> Answer { .fail(TunnelFailure(code: code, text: text, help: .person)) }
}
