internal import NetworkTypes

/// Removes secrets from texts, and replaces what shows a place by pseudonyms, where that is wanted.
///
/// A secret is known by its form (keys, PEM blocks, JSON web tokens, passwords in URLs) or by the name before it. `learn` remembers secrets
/// that were found by their names, so that they are removed where they stand without one. A pseudonym is the same for the same value in
/// all texts of one redactor.
package struct Redactor {
  /// The numbers of replacements in a text.
  package struct Findings: Equatable, Sendable {
    package var secrets = 0
    package var pseudonyms = 0
  }

  private let hidesPlaces: Bool
  private var secrets = KnownValues()
  private var places = KnownValues(onlyWords: true)
  private var pseudonyms: [String: String] = [:]
  private var numbers: [String: Int] = [:]

  static let mark = Array(Disclosure.secretMark.utf8)
  /// Shorter secrets are removed only where their name stands before them.
  private static let shortest = 6

  /// `hosts`: names of this machine.
  package init(hidesPlaces: Bool, hosts: [String] = []) {
    self.hidesPlaces = hidesPlaces
    for host in hosts where host.utf8.count >= 3 { learnPlace(host, "host") }
  }

  // MARK: Learning

  /// Remembers the secrets of a text, and names of networks and hosts.
  package mutating func learn(_ text: String) {
    var blocks = SecretBlocks()
    // The nature of a list whose elements stand below its name.
    var open: (nature: ValueNature, indentation: Int)?
    for line in lines(text) {
      if blocks.hides(line) {
        learnSecret(trimmed(line).drop { $0 == UInt8(ascii: "-") || $0 == 0x20 })
        continue
      }
      let indentation = line.prefix { $0 == 0x20 || $0 == 0x09 }.count
      let element = trimmed(line)
      if let list = open, indentation > list.indentation || element.starts(with: "- ".utf8) {
        learn(element.drop { $0 == UInt8(ascii: "-") || $0 == 0x20 }, list.nature, isQuoted: false)
      } else if !element.isEmpty {
        open = nil
      }
      for value in KeyedValue.all(in: line) {
        guard let nature = value.nature(in: line) else { continue }
        learn(line[value.value], nature, isQuoted: value.isQuoted)
        if value.mayContinue, nature != .secret { open = (nature, indentation) }
      }
    }
  }

  /// Remembers secrets that were found in the structure of a document.
  package mutating func learn(secrets texts: [String]) {
    for text in texts { for line in textLines(text) { learnSecret(Array(line.trimmed.utf8)[...]) } }
  }

  /// Remembers the names of networks, one on a line.
  package mutating func learnNetworks(_ text: String) {
    guard hidesPlaces else { return }
    for line in textLines(text) where !line.isEmpty && !line.hasPrefix("#") { learnPlace(line.trimmingQuotes, "ssid") }
  }

  private mutating func learn(_ value: ArraySlice<UInt8>, _ nature: ValueNature, isQuoted: Bool) {
    switch nature {
    case .secret: learnSecret(value)
    case .network where hidesPlaces: for word in list(value, isQuoted: isQuoted) { learnPlace(word, "ssid") }
    case .host where hidesPlaces: for word in list(value, isQuoted: isQuoted) { learnHost(word) }
    case .network, .host: break
    }
  }

  private mutating func learnSecret(_ value: ArraySlice<UInt8>) {
    secrets.add(value, as: Self.mark, atLeast: Self.shortest)
    // Of a list of arguments the secret is the first.
    let words = value.split { " ,\"']}".utf8.contains($0) }
    if let first = words.first { secrets.add(first, as: Self.mark, atLeast: Self.shortest) }
  }

  private mutating func learnHost(_ word: String) {
    let parts = word.split { "/:?#@[]\\*".contains($0) }.map(String.init)
    for part in parts where part.contains(".") && part.contains(where: \.isLetter) && IPAddress(part) == nil {
      if part.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "-") }) { learnPlace(part, "name") }
    }
  }

  private mutating func learnPlace(_ value: String, _ kind: String) {
    let bytes = Array(value.utf8)
    guard bytes.count >= 2, !places.contains(bytes) else { return }
    let pseudonym = pseudonym(of: value, kind)
    places.add(bytes[...], as: Array(pseudonym.utf8), atLeast: 2)
    // As JSON and policies write a quote and a backslash.
    let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    if escaped != value { places.add(Array(escaped.utf8)[...], as: Array(pseudonym.utf8), atLeast: 2) }
  }

  private mutating func pseudonym(of value: String, _ kind: String) -> String {
    if let known = pseudonyms["\(kind) \(value)"] { return known }
    numbers[kind, default: 0] += 1
    let pseudonym = "\(kind)-\(numbers[kind] ?? 0)"
    pseudonyms["\(kind) \(value)"] = pseudonym
    return pseudonym
  }

  // MARK: Redaction

  /// The text without secrets, and what was replaced in it.
  package mutating func redact(_ text: String) -> (text: String, findings: Findings) {
    var findings = Findings()
    var result: [UInt8] = []
    var blocks = SecretBlocks()
    let all = lines(text)
    for (number, line) in all.enumerated() {
      if blocks.hides(line) {
        findings.secrets += 1
        result += line.prefix { $0 == 0x20 || $0 == 0x09 } + Self.mark
      } else {
        result += redact(line: line, &findings)
      }
      if number < all.count - 1 { result.append(UInt8(ascii: "\n")) }
    }
    return (String(decoding: result, as: UTF8.self), findings)
  }

  private mutating func redact(line: [UInt8], _ findings: inout Findings) -> [UInt8] {
    var line = line
    var isFound = true
    var done = 0
    while isFound {
      isFound = false
      for value in KeyedValue.all(in: line) where value.value.lowerBound >= done && value.nature(in: line) == .secret {
        if value.value.isEmpty || line[value.value].starts(with: Self.mark) { continue }
        line.replaceSubrange(value.value, with: Self.mark)
        done = value.value.lowerBound + Self.mark.count
        findings.secrets += 1
        isFound = true
        break
      }
    }
    line = withoutKnownForms(withoutBlock(line, &findings), &findings)
    line = secrets.replaced(in: withoutUserInformation(line, &findings), &findings.secrets)
    line = withoutKeys(line, &findings)
    return hidesPlaces ? withoutAddresses(places.replaced(in: line, &findings.pseudonyms), &findings) : line
  }

  /// Replaces a PEM block that stands on one line, or begins on it.
  private func withoutBlock(_ line: [UInt8], _ findings: inout Findings) -> [UInt8] {
    guard Token.beginsSecretBlock(String(decoding: line, as: UTF8.self)), let start = line.firstRange(of: Array("-----BEGIN ".utf8)),
      let name = line[start.upperBound...].firstRange(of: Array("-----".utf8))
    else { return line }
    let end = line[name.upperBound...].firstRange(of: Array("-----END ".utf8))?.lowerBound ?? line.count
    guard end > name.upperBound else { return line }
    findings.secrets += 1
    return line[..<name.upperBound] + Self.mark + line[end...]
  }

  /// Replaces tokens of known services, and hashes of passwords.
  private func withoutKnownForms(_ line: [UInt8], _ findings: inout Findings) -> [UInt8] {
    var (line, start) = (line, 0)
    while start < line.count, let range = Token.knownForm(in: line, from: start) {
      line.replaceSubrange(range, with: Self.mark)
      findings.secrets += 1
      start = range.lowerBound + Self.mark.count
    }
    return line
  }

  /// Replaces the passwords of URLs.
  private func withoutUserInformation(_ line: [UInt8], _ findings: inout Findings) -> [UInt8] {
    var (line, start) = (line, 0)
    while let range = Token.userInformation(in: line, from: start) {
      line.replaceSubrange(range, with: Self.mark)
      findings.secrets += 1
      start = range.lowerBound + Self.mark.count
    }
    return line
  }

  /// Replaces keys by pseudonyms, so that the same key is seen to be the same, and JSON web tokens.
  private mutating func withoutKeys(_ line: [UInt8], _ findings: inout Findings) -> [UInt8] {
    var result: [UInt8] = []
    for (word, isWord) in parts(of: line, where: Token.isPart) {
      if isWord, let key = Token.key(in: word) {
        let pseudonym = pseudonym(of: String(decoding: word[key], as: UTF8.self), "key")
        result += word[..<key.lowerBound] + Array("[\(pseudonym)]".utf8) + word[key.upperBound...]
        findings.secrets += 1
      } else if isWord, Token.isWebToken(word) {
        result += Self.mark
        findings.secrets += 1
      } else {
        result += word
      }
    }
    return result
  }

  private mutating func withoutAddresses(_ line: [UInt8], _ findings: inout Findings) -> [UInt8] {
    var result: [UInt8] = []
    for (word, isWord) in parts(of: line, where: Token.isPartOfAddress) {
      let text = String(decoding: word, as: UTF8.self)
      let isWhole =
        !(result.last.map(Token.isAlphanumeric) ?? false) && !(word.endIndex < line.count && Token.isAlphanumeric(line[word.endIndex]))
      if isWord, isWhole, let (kind, address) = Token.place(text) {
        result += Array((pseudonym(of: address, kind) + text.dropFirst(address.count)).utf8)
        findings.pseudonyms += 1
      } else {
        result += word
      }
    }
    return result
  }
}

/// The line in pieces: words of such bytes, and what is between them.
private func parts(of line: [UInt8], where isPart: (UInt8) -> Bool) -> [(ArraySlice<UInt8>, isWord: Bool)] {
  var found: [(ArraySlice<UInt8>, isWord: Bool)] = []
  var place = 0
  while place < line.count {
    let isWord = isPart(line[place])
    let end = line[place...].firstIndex { isPart($0) != isWord } ?? line.count
    found.append((line[place..<end], isWord))
    place = end
  }
  return found
}

private func lines(_ text: String) -> [[UInt8]] { text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false).map(Array.init) }

private func trimmed(_ line: [UInt8]) -> ArraySlice<UInt8> {
  let isSpace = { (byte: UInt8) in byte <= 0x20 }
  guard let first = line.firstIndex(where: { !isSpace($0) }), let last = line.lastIndex(where: { !isSpace($0) }) else { return [] }
  return line[first...last]
}

/// The elements of a list, or the value alone, without quotes. What follows it in a mapping on one line is no part of it.
private func list(_ value: ArraySlice<UInt8>, isQuoted: Bool) -> [String] {
  let text = String(decoding: value, as: UTF8.self)
  if isQuoted { return [text.withoutEscapes] }
  guard text.hasPrefix("[") else { return [text.prefix { !",{}".contains($0) }.trimmingQuotes].filter { !$0.isEmpty } }
  return text.dropFirst().prefix { $0 != "]" }.split(separator: ",").map { $0.trimmingQuotes.withoutEscapes }.filter { !$0.isEmpty }
}

extension String {
  /// The text of a quoted value.
  fileprivate var withoutEscapes: String { replacing("\\\"", with: "\"").replacing("\\\\", with: "\\") }
}

extension StringProtocol {
  fileprivate var trimmingQuotes: String {
    var text = self[...]
    while text.first == " " { text = text.dropFirst() }
    while let last = text.last, " ,".contains(last) { text = text.dropLast() }
    let isQuoted = text.count >= 2 && text.first == text.last && (text.first == "\"" || text.first == "'")
    return String(isQuoted ? text.dropFirst().dropLast() : text)
  }
}
