/// True if a key's name indicates that its value is a secret: `private-key`, `PresharedKey`, `password`.
func isSecretName(_ name: String) -> Bool {
  let letters = name.utf8.map { $0 | 0x20 }.filter { (97...122).contains($0) }
  return secretNames.contains { secret in
    letters.count >= secret.count && (0...(letters.count - secret.count)).contains { letters[$0...].starts(with: secret) }
  }
}

private let secretNames = [
  "privatekey", "presharedkey", "psk", "password", "passwd", "passphrase", "secret", "token", "apikey",
].map { Array($0.utf8) }

/// The printable form of a policy's line, character for character. Masks the value of a key with the name of a secret, and a password in a
/// URL.
func maskSecrets(_ line: String) -> String {
  var shown: [Unicode.Scalar] = []
  var word = ""
  var isHiding = false
  for scalar in line.unicodeScalars {
    if isHiding {
      shown.append(scalar == " " || scalar == "\t" ? scalar : "•")
      continue
    }
    shown.append(scalar)
    switch scalar {
    case ":", "=":
      isHiding = isSecretName(word)
      word = ""
    case ",", "{", "[": word = ""
    default: word.unicodeScalars.append(scalar)
    }
  }
  hideUserInformation(in: &shown)
  var view = String.UnicodeScalarView()
  view.append(contentsOf: shown)
  return String(view)
}

/// Masks the user information of a URL: `https://••••@host/`.
private func hideUserInformation(in line: inout [Unicode.Scalar]) {
  var i = 0
  while i + 2 < line.count {
    guard line[i] == ":", line[i + 1] == "/", line[i + 2] == "/" else {
      i += 1
      continue
    }
    let start = i + 3
    let end = line[start...].firstIndex { $0 == "/" || $0 == " " || $0 == "\"" } ?? line.count
    if let at = line[start..<end].lastIndex(of: "@") { for j in start..<at { line[j] = "•" } }
    i = end
  }
}
