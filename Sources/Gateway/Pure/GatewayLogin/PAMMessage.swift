package import GatewayCore
package import LoginProtocol
package import NetworkTypes

/// Bounds of a check by PAM.
package enum PAMLimits {
  /// Checks at once, each in a process of its own.
  package static let checks = 32
  /// Questions of a check.
  package static let prompts = 8
  /// Of a text for the person, and of all of them together, in bytes.
  package static let text = 512
  package static let notes = 512
  /// The folders that modules can read: their settings, their code, sockets and devices. Homes and the state of other programs are not
  /// among them.
  package static let folders = ["/etc", "/usr", "/lib", "/lib64", "/run", "/dev"]
}

/// An order of `roamward-gateway` to `roamward-gateway-pam`, which makes one check.
package enum PAMOrder: Hashable, Sendable {
  /// The first one. `source`: the address of the client.
  case check(service: String, user: GatewayName, password: [UInt8], source: IPAddress)
  /// To a prompt.
  case answer([UInt8])

  package var frame: LoginFrame {
    switch self {
    case .check(let service, let user, let password, let source):
      var frame = LoginFrame(1)
      frame.add(1, service)
      frame.add(2, user.description)
      frame.add(3, password)
      frame.add(4, source.bytes)
      return frame
    case .answer(let value):
      var frame = LoginFrame(2)
      frame.add(1, value)
      return frame
    }
  }

  package init(_ frame: LoginFrame) throws(LoginFrameError) {
    switch frame.kind {
    case 1:
      let service = try frame.text(1, 1...64)
      guard PAMSettings.isService(service) else { throw .field }
      self = .check(
        service: service, user: try frame.name(2), password: try frame.value(3, 1...ClientMessage.secretLimit),
        source: try frame.address(4))
    case 2: self = .answer(try frame.value(1, 0...ClientMessage.secretLimit))
    default: throw .kind
    }
  }
}

/// A report of `roamward-gateway-pam` to `roamward-gateway`. A module that takes that process over can send nothing else.
package enum PAMReport: Hashable, Sendable {
  /// It works, or says why it does not.
  case hello(trouble: String?)
  case prompt(text: String, echo: Bool)
  /// The password is right, and the account may be used. `notes`: what the person is told.
  case accepted(notes: String)
  case refused(LoginRefusal)
  /// The service cannot be used; the text says why.
  case unavailable(String)

  package var frame: LoginFrame {
    var frame: LoginFrame
    switch self {
    case .hello(let trouble):
      frame = LoginFrame(1)
      if let trouble { frame.add(1, String(trouble.prefix(PAMLimits.text / 4))) }
    case .prompt(let text, let echo):
      frame = LoginFrame(2)
      frame.add(1, text)
      frame.add(2, [echo ? 1 : 0])
    case .accepted(let notes):
      frame = LoginFrame(3)
      frame.add(1, notes)
    case .refused(let refusal):
      frame = LoginFrame(4)
      frame.add(1, [refusal.rawValue])
    case .unavailable(let text):
      frame = LoginFrame(5)
      frame.add(1, String(text.prefix(PAMLimits.text / 4)))
    }
    return frame
  }

  package init(_ frame: LoginFrame) throws(LoginFrameError) {
    let text = 0...PAMLimits.text
    switch frame.kind {
    case 1: self = .hello(trouble: frame[1] == nil ? nil : try frame.anyText(1, text))
    case 2: self = .prompt(text: Self.printable(try frame.anyText(1, text)), echo: try frame.value(2, 1...1)[0] == 1)
    case 3: self = .accepted(notes: Self.printable(try frame.anyText(1, 0...PAMLimits.notes)))
    case 4:
      guard let refusal = LoginRefusal(rawValue: try frame.value(1, 1...1)[0]) else { throw .field }
      self = .refused(refusal)
    case 5: self = .unavailable(Self.printable(try frame.anyText(1, text)))
    default: throw .kind
    }
  }

  /// The text of a module for a person: without control characters and marks that turn the direction of text, ends of lines as they are,
  /// cut to the bytes of a text. Bytes that are no UTF-8 become U+FFFD.
  package static func printable(_ text: String, limit: Int = PAMLimits.text) -> String {
    var result = ""
    var count = 0
    for character in text.unicodeScalars where isPrintable(character) {
      count += UTF8.width(character)
      if count > limit { break }
      result.unicodeScalars.append(character)
    }
    while let last = result.last, last.isWhitespace { result.removeLast() }
    return result
  }

  private static func isPrintable(_ character: Unicode.Scalar) -> Bool {
    switch character.properties.generalCategory {
    case .control: character == "\n"
    case .format, .surrogate, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }
}
