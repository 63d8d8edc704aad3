/// The keys of a wg-quick file. The values of secret keys are never shown.
enum WireGuardKeyword: String, CaseIterable {
  case privateKey = "PrivateKey"
  case listenPort = "ListenPort"
  case address = "Address"
  case dns = "DNS"
  case mtu = "MTU"
  case table = "Table"
  case fwMark = "FwMark"
  case preUp = "PreUp"
  case postUp = "PostUp"
  case preDown = "PreDown"
  case postDown = "PostDown"
  case saveConfig = "SaveConfig"
  case publicKey = "PublicKey"
  case presharedKey = "PresharedKey"
  case allowedIPs = "AllowedIPs"
  case endpoint = "Endpoint"
  case persistentKeepalive = "PersistentKeepalive"

  init?(ignoringCase text: String) {
    guard let keyword = Self.allCases.first(where: { $0.rawValue.lowercased() == text.lowercased() }) else { return nil }
    self = keyword
  }

  static let interface: [WireGuardKeyword] = [
    .privateKey, .listenPort, .address, .dns, .mtu, .table, .fwMark, .preUp, .postUp, .preDown, .postDown, .saveConfig,
  ]
  static let peer: [WireGuardKeyword] = [.publicKey, .presharedKey, .allowedIPs, .endpoint, .persistentKeepalive]

  /// True if its values may be shown, unless they look like a key.
  fileprivate var isPublic: Bool {
    switch self {
    case .privateKey, .presharedKey, .preUp, .postUp, .preDown, .postDown: false
    default: true
    }
  }
}

/// The printable form of a line, character for character. Masks the values of secret and unknown keys, comments, and anything that could be
/// part of a key.
func redactedWireGuardLine(_ line: String) -> String {
  var shown = String.UnicodeScalarView()
  var hiding = false
  let name = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init) ?? ""
  // A misspelled key may be shown, but its value may be a secret.
  let resembled = nearest(to: trimmed(name), among: WireGuardKeyword.allCases.map(\.rawValue)).map { _ in WireGuardKeyword.privateKey }
  let keyword = WireGuardKeyword(ignoringCase: trimmed(name)) ?? resembled
  let isHeader = ["[interface]", "[peer]"].contains(trimmed(line).lowercased())
  if keyword == nil, !isHeader { hiding = true }
  for scalar in redacted(line).unicodeScalars {
    if scalar == "#" { hiding = true }
    shown.append(hiding && scalar != " " && scalar != "\t" && scalar != "#" ? "•" : scalar)
    if scalar == "=", keyword?.isPublic == false { hiding = true }
  }
  return String(shown)
}

/// The text with base64 runs of twelve or more characters that contain a capital letter replaced, character for character.
func redacted(_ text: String) -> String {
  func isBase64(_ c: Unicode.Scalar) -> Bool {
    ("0"..."9").contains(c) || ("a"..."z").contains(c) || ("A"..."Z").contains(c) || c == "+" || c == "/" || c == "="
  }
  var result = String.UnicodeScalarView()
  var run: [Unicode.Scalar] = []
  func flush() {
    let isSecret = run.count >= 12 && run.contains { ("A"..."Z").contains($0) } && WireGuardKeyword(ignoringCase: word(run)) == nil
    result.append(contentsOf: isSecret ? run.map { _ in "•" } : run)
    run.removeAll()
  }
  for scalar in text.unicodeScalars {
    if isBase64(scalar) {
      run.append(scalar)
    } else {
      flush()
      result.append(scalar)
    }
  }
  flush()
  return String(result)
}

/// The run without the `=` that may follow it.
private func word(_ run: [Unicode.Scalar]) -> String {
  String(String.UnicodeScalarView(run.last == "=" ? run.dropLast() : run[...]))
}

func trimmed(_ text: some StringProtocol) -> String {
  func isSpace(_ c: Character) -> Bool { c == " " || c == "\t" }
  guard let first = text.firstIndex(where: { !isSpace($0) }), let last = text.lastIndex(where: { !isSpace($0) }) else { return "" }
  return String(text[first...last])
}
