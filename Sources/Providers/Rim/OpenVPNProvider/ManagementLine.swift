internal import NetworkTypes

/// A line that openvpn(8) writes to its management interface (management-notes.txt of OpenVPN).
package enum ManagementLine: Equatable, Sendable {
  /// A state of the connection, such as `CONNECTED`, and its description.
  case state(String, String)
  /// It waits for `hold release`, and proposes to wait this many seconds.
  case hold(seconds: Int)
  /// It needs a user name and a password, or a password alone. `challenge`: the text of a static challenge, and whether the answer may be
  /// shown.
  case needs(what: String, hasUsername: Bool, challenge: Challenge?)
  /// The server refused what was given. `challenge`: it wants an answer first (CRV1).
  case refused(what: String, challenge: DynamicChallenge?)
  /// The beginning of a list of settings: the tunnel is up, or down.
  case up, down
  case setting(name: String, value: String)
  case endOfSettings
  /// A line of its log, without flags. `isLoud`: an error or a warning.
  case log(String, isLoud: Bool)
  case fatal(String)
  /// The page where a person signs in.
  case page(String)
  /// Of `status`: the bytes that have come from the server, and gone to it.
  case received(UInt64), sent(UInt64)
  /// The result of a command.
  case failure(String)
  case other

  package struct Challenge: Equatable, Sendable {
    package let text: String
    package let mayEcho: Bool
    /// Whether the answer is appended to the password instead of encoded beside it.
    package let isConcatenated: Bool

    package init(text: String, mayEcho: Bool, isConcatenated: Bool) {
      self.text = text
      self.mayEcho = mayEcho
      self.isConcatenated = isConcatenated
    }
  }

  package struct DynamicChallenge: Equatable, Sendable {
    package let state: String
    package let username: String
    package let text: String
    package let needsAnswer: Bool

    package init(state: String, username: String, text: String, needsAnswer: Bool) {
      self.state = state
      self.username = username
      self.text = text
      self.needsAnswer = needsAnswer
    }
  }

  /// Reads any line; what it does not know is `other`.
  package init(_ line: Substring) {
    guard line.first == ">", let colon = line.firstIndex(of: ":") else {
      self = line.hasPrefix("ERROR:") ? .failure(String(line.dropFirst(6).trimmingSpaces)) : Self.count(line) ?? .other
      return
    }
    let rest = line[line.index(after: colon)...]
    switch line[line.index(after: line.startIndex)..<colon] {
    case "STATE":
      let fields = rest.split(separator: ",", omittingEmptySubsequences: false)
      self = fields.count >= 2 ? .state(String(fields[1]), fields.count > 2 ? String(fields[2]) : "") : .other
    case "HOLD": self = .hold(seconds: rest.split(separator: ":").last.flatMap { Int($0) }.map { min(max($0, 0), 300) } ?? 0)
    case "PASSWORD": self = Self.password(rest)
    case "UPDOWN": self = Self.upDown(rest)
    case "LOG":
      let fields = rest.split(separator: ",", maxSplits: 2, omittingEmptySubsequences: false)
      self = fields.count == 3 ? .log(String(fields[2]), isLoud: fields[1].contains { "FNW".contains($0) }) : .other
    case "FATAL": self = .fatal(String(rest.trimmingSpaces))
    case "INFOMSG": self = Self.page(rest)
    default: self = .other
    }
  }

  /// `TCP/UDP read bytes,4711`
  private static func count(_ line: Substring) -> ManagementLine? {
    guard line.hasPrefix("TCP/UDP "), let comma = line.lastIndex(of: ","), let bytes = UInt64(line[line.index(after: comma)...]) else {
      return nil
    }
    switch line[..<comma] {
    case "TCP/UDP read bytes": return .received(bytes)
    case "TCP/UDP write bytes": return .sent(bytes)
    default: return nil
    }
  }

  private static func password(_ text: Substring) -> ManagementLine {
    if text.hasPrefix("Need "), let (what, rest) = quoted(text.dropFirst(5)) {
      var challenge: Challenge?
      if let mark = rest.firstRange(of: " SC:") {
        let fields = rest[mark.upperBound...].split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
        let flags = fields.first.flatMap { Int($0) } ?? 0
        challenge = Challenge(
          text: fields.count > 1 ? String(fields[1]) : "", mayEcho: flags & 1 != 0, isConcatenated: flags & 2 != 0)
      }
      return .needs(what: what, hasUsername: rest.contains("username/password"), challenge: challenge)
    }
    if text.hasPrefix("Verification Failed: "), let (what, rest) = quoted(text.dropFirst(21)) {
      return .refused(what: what, challenge: DynamicChallenge(rest))
    }
    return .other
  }

  private static func upDown(_ text: Substring) -> ManagementLine {
    if text == "UP" { return .up }
    if text == "DOWN" { return .down }
    guard text.hasPrefix("ENV,") else { return .other }
    let setting = text.dropFirst(4)
    if setting == "END" { return .endOfSettings }
    guard let equals = setting.firstIndex(of: "=") else { return .other }
    return .setting(name: String(setting[..<equals]), value: String(setting[setting.index(after: equals)...]))
  }

  private static func page(_ text: Substring) -> ManagementLine {
    if text.hasPrefix("OPEN_URL:") { return .page(String(text.dropFirst(9))) }
    guard text.hasPrefix("WEB_AUTH:"), let flags = text.dropFirst(9).firstIndex(of: ":") else { return .other }
    return .page(String(text[text.index(after: flags)...]))
  }

  /// The text in single quotes at the beginning, and what follows.
  private static func quoted(_ text: Substring) -> (String, Substring)? {
    guard text.first == "'", let end = text.dropFirst().firstIndex(of: "'") else { return nil }
    return (String(text[text.index(after: text.startIndex)..<end]), text[text.index(after: end)...])
  }
}

extension ManagementLine.DynamicChallenge {
  /// `['CRV1:flags:state:username in base64:text']`
  init?(_ text: Substring) {
    guard let start = text.firstRange(of: "['CRV1:"), let end = text.lastIndex(of: "'"), end > start.upperBound else { return nil }
    let fields = text[start.upperBound..<end].split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
    guard fields.count == 4, let name = bytes(fromBase64: String(fields[2])) else { return nil }
    self.init(
      state: String(fields[1]), username: String(decoding: name, as: UTF8.self), text: String(fields[3]),
      needsAnswer: fields[0].split(separator: ",").contains("R"))
  }
}

extension Substring {
  var trimmingSpaces: Substring {
    var text = self
    while text.first == " " { text.removeFirst() }
    while text.last == " " || text.last == "\r" { text.removeLast() }
    return text
  }
}

/// A word for a management command: in double quotes, with `"` and `\` escaped. `nil` if it cannot be sent: it has a control character.
package func managementWord(_ text: String) -> String? {
  if text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) { return nil }
  var word = "\""
  for scalar in text.unicodeScalars {
    if scalar == "\"" || scalar == "\\" { word += "\\" }
    word.unicodeScalars.append(scalar)
  }
  return word + "\""
}
