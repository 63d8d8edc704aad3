extension ImportReport {
  /// The report for people: one line per key, in the order of processing.
  package var text: String {
    var lines: [String] = []
    if let signature { lines.append("\(shown(file)): \(signature.text)") }
    for entry in entries {
      let place = entry.line.map { "\(shown(file)):\($0)" } ?? shown(file)
      let weight = entry.weight == .plain ? "" : "\(entry.weight.rawValue): "
      let key = entry.key.isEmpty ? "" : " " + entry.key
      lines.append("\(place): \(entry.outcome.rawValue)\(key)\(entry.text.isEmpty && weight.isEmpty ? "" : ": ")\(weight)\(entry.text)")
    }
    return lines.map { $0 + "\n" }.joined()
  }

  /// `14 taken, 2 changed, 3 dropped`.
  package var summary: String {
    [Outcome.taken, .changed, .dropped].map { "\(count($0)) \($0.rawValue)" }.joined(separator: ", ")
  }
}

extension ProfileSignature {
  package var text: String {
    let who = signers.isEmpty ? "by a certificate that it does not carry" : "by " + signers.joined(separator: ", ")
    return switch standing {
    case .notVerified: "signed \(who); the signature was not checked (--verify checks it)"
    case .verified: "signed \(who); the signature is good"
    case .refuted(let reason): "signed \(who); the signature does NOT hold: \(reason)"
    }
  }
}
