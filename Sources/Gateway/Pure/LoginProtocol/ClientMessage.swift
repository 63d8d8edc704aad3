/// A message of a client in a login.
package enum ClientMessage: Hashable, Sendable {
  case hello(LoginHello)
  case password(user: String, password: [UInt8])
  case token([UInt8])
  /// Begins a login by a method that needs neither a name nor a secret.
  case begin(LoginMethod)
  case answer(LoginMethod, [UInt8])
  /// Instead of a login: from the answer on, the connection carries datagrams (`RelayFrame`). The lowest and the highest version that the
  /// client can do.
  case relay(versions: ClosedRange<UInt8>)

  /// The most bytes of a name, a password, a token or an answer.
  package static let nameLimit = 64
  package static let secretLimit = 256

  private enum Kind {
    static let hello: UInt8 = 1
    static let password: UInt8 = 2
    static let token: UInt8 = 3
    static let answer: UInt8 = 4
    static let begin: UInt8 = 5
    static let relay: UInt8 = 6
  }

  package var frame: LoginFrame {
    switch self {
    case .hello(let hello):
      var frame = LoginFrame(Kind.hello)
      frame.add(1, [hello.versions.lowerBound, hello.versions.upperBound])
      frame.add(2, hello.methods.map(\.rawValue).sorted())
      frame.add(3, hello.device)
      frame.add(4, hello.publicKey)
      return frame
    case .password(let user, let password):
      var frame = LoginFrame(Kind.password)
      frame.add(1, user)
      frame.add(2, password)
      return frame
    case .token(let token):
      var frame = LoginFrame(Kind.token)
      frame.add(1, token)
      return frame
    case .begin(let method):
      var frame = LoginFrame(Kind.begin)
      frame.add(1, [method.rawValue])
      return frame
    case .answer(let method, let value):
      var frame = LoginFrame(Kind.answer)
      frame.add(1, [method.rawValue])
      frame.add(2, value)
      return frame
    case .relay(let versions):
      var frame = LoginFrame(Kind.relay)
      frame.add(1, [versions.lowerBound, versions.upperBound])
      return frame
    }
  }

  package init(_ frame: LoginFrame) throws(LoginFrameError) {
    switch frame.kind {
    case Kind.hello: self = .hello(try LoginHello(frame))
    case Kind.password:
      self = .password(user: try frame.text(1, 1...Self.nameLimit), password: try frame.value(2, 1...Self.secretLimit))
    case Kind.token: self = .token(try frame.value(1, 1...Self.secretLimit))
    case Kind.answer:
      guard let method = LoginMethod(rawValue: try frame.value(1, 1...1)[0]) else { throw .field }
      self = .answer(method, try frame.value(2, 0...Self.secretLimit))
    case Kind.begin:
      guard let method = LoginMethod(rawValue: try frame.value(1, 1...1)[0]) else { throw .field }
      self = .begin(method)
    case Kind.relay: self = .relay(versions: try frame.versions(1))
    default: throw .kind
    }
  }
}

/// The first message of a client.
package struct LoginHello: Hashable, Sendable {
  /// The lowest and the highest version that the client can do.
  package var versions: ClosedRange<UInt8>
  /// The methods that it can do; unknown ones are left out.
  package var methods: Set<LoginMethod>
  /// The name that the device has for its person.
  package var device: String
  /// The device's public key of WireGuard, 32 bytes.
  package var publicKey: [UInt8]

  package init(
    versions: ClosedRange<UInt8> = 1...1, methods: Set<LoginMethod> = Set(LoginMethod.allCases), device: String, publicKey: [UInt8]
  ) {
    self.versions = versions
    self.methods = methods
    self.device = device
    self.publicKey = publicKey
  }

  init(_ frame: LoginFrame) throws(LoginFrameError) {
    let methods = try frame.value(2, 0...64).compactMap { LoginMethod(rawValue: $0) }
    self.init(
      versions: try frame.versions(1), methods: Set(methods), device: try frame.text(3, 1...ClientMessage.nameLimit),
      publicKey: try frame.value(4, 32...32))
  }
}

extension LoginFrame {
  package func value(_ tag: UInt8, _ lengths: ClosedRange<Int>) throws(LoginFrameError) -> [UInt8] {
    guard let value = self[tag], lengths.contains(value.count) else { throw .field }
    return value
  }

  /// The lowest and the highest version.
  func versions(_ tag: UInt8) throws(LoginFrameError) -> ClosedRange<UInt8> {
    let ends = try value(tag, 2...2)
    guard ends[0] <= ends[1] else { throw .field }
    return ends[0]...ends[1]
  }

  /// Valid UTF-8 without control characters: names and addresses are shown, stored and logged. `lines`: it may have line ends and tabs.
  package func text(_ tag: UInt8, _ lengths: ClosedRange<Int>, lines: Bool = false) throws(LoginFrameError) -> String {
    guard let text = Self.text(try value(tag, lengths), lines: lines) else { throw .field }
    return text
  }

  /// Valid UTF-8 with any characters, for a text that the caller makes printable.
  package func anyText(_ tag: UInt8, _ lengths: ClosedRange<Int>) throws(LoginFrameError) -> String {
    guard let text = String(validating: try value(tag, lengths), as: UTF8.self) else { throw .field }
    return text
  }

  static func text(_ bytes: [UInt8], lines: Bool = false) -> String? {
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let isClean = text.unicodeScalars.allSatisfy { scalar in
      scalar.properties.generalCategory != .control || lines && (scalar == "\n" || scalar == "\t")
    }
    return isClean ? text : nil
  }
}
