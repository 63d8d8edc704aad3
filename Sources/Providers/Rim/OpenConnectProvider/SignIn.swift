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

/// A person's sign-in: what is known, and what was given already.
struct SignIn {
  var username: String?
  var password: String?
  var keyPassword: String?
  var group: String?
  /// Lines of the server since the last answer: what it asks for.
  var notes: [String] = []
  /// Whether the server has been given a password; it asks again after a wrong one.
  var hasGivenPassword = false
  var isRefused = false

  /// The server's own words for a question, in one line.
  func prompt(_ label: String, _ tunnel: String) -> String {
    let words = (notes.suffix(1) + [label]).joined(separator: " ").prefix(300)
    return "\(words) (\(tunnel))"
  }
}
