/// A value in a line of text with the name before it: `password: x`, `"token": "x"`, `PrivateKey = x`, `--cookie=x`, `--password x`.
struct KeyedValue {
  /// The letters of the name, in lower case.
  let name: String
  /// The bytes of the value, without quotes.
  let value: Range<Int>
  let isQuoted: Bool
  /// Whether the value may go on in the following lines, which are indented further: it is empty, or the start of a block.
  let mayContinue: Bool

  /// The values of a line, in order. Without quotes a value goes to the end of the line, and so may hold others.
  static func all(in line: [UInt8]) -> [KeyedValue] {
    var found: [KeyedValue] = []
    var place = 0
    while place < line.count {
      guard isWord(line[place]) else {
        place += 1
        continue
      }
      let end = line[place...].firstIndex { !isWord($0) } ?? line.count
      let word = line[place..<end]
      if let value = value(after: end, in: line, isOption: word.first == UInt8(ascii: "-")) {
        let letters = word.map { $0 | 0x20 }.filter { (97...122).contains($0) }
        found.append(
          KeyedValue(
            name: String(decoding: letters, as: UTF8.self), value: value.range, isQuoted: value.isQuoted, mayContinue: value.mayContinue))
      }
      place = end
    }
    return found
  }

  private static func value(after end: Int, in line: [UInt8], isOption: Bool) -> (range: Range<Int>, isQuoted: Bool, mayContinue: Bool)? {
    var place = end
    func skip(_ bytes: String) { while place < line.count, bytes.utf8.contains(line[place]) { place += 1 } }
    func isAt(_ bytes: String) -> Bool { place < line.count && bytes.utf8.contains(line[place]) }
    if isAt("\"'") { place += 1 }
    let closed = place
    skip(" \t")
    var isMapping = false
    if isAt(":=") {
      isMapping = line[place] == UInt8(ascii: ":")
      place += 1
    } else if isOption, place > closed || isAt(",") {
      skip(",")
    } else {
      return nil
    }
    skip(" \t")
    if isOption { skip("\"'") }
    if !isOption, isAt("\"'") {
      let quote = line[place]
      let start = place + 1
      var stop = start
      while stop < line.count, line[stop] != quote { stop += line[stop] == UInt8(ascii: "\\") ? 2 : 1 }
      return (start..<min(stop, line.count), true, false)
    }
    var stop = line.count
    while stop > place, [0x20, 0x09, 0x0d].contains(line[stop - 1]) { stop -= 1 }
    return (place..<stop, false, isMapping && opensBlock(line[place..<stop]))
  }

  /// Whether a value is empty, a block scalar, or a list or mapping without its end.
  private static func opensBlock(_ value: ArraySlice<UInt8>) -> Bool {
    guard let first = value.first, let last = value.last else { return true }
    return "|>".utf8.contains(first) || "[{".utf8.contains(first) && !"]}".utf8.contains(last)
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}

/// What the name of a value says about it.
enum ValueNature {
  case secret
  /// The name of a Wi-Fi network.
  case network
  /// A host, a domain or a URL.
  case host

  /// `name`: letters in lower case.
  init?(ofName name: String) {
    if Self.secretParts.contains(where: name.contains) || Self.secretEnds.contains(where: name.hasSuffix) || name == "p" {
      self = .secret
    } else if name == "ssid" || name == "ssids" {
      self = .network
    } else if Self.hosts.contains(name) {
      self = .host
    } else {
      return nil
    }
  }

  private static let secretParts = [
    "privatekey", "presharedkey", "psk", "password", "passwd", "passphrase", "secret", "token", "apikey", "cookie", "authorization",
    "credential", "bearer", "webvpn", "preup", "postup", "predown", "postdown",
  ]
  private static let secretEnds = ["pass", "pwd"]
  private static let hosts: Set<String> = [
    "endpoint", "endpoints", "gateway", "gateways", "remote", "server", "servers", "host", "hosts", "hostname", "url", "pac", "domain",
    "domains", "searchdomains", "matchdomains", "searchdomain", "names", "name", "refused", "search", "probe", "accesspoint",
  ]
}
