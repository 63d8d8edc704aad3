/// The report of an import, as `roamward import --json` prints it.
extension ImportReport: Encodable {
  private enum CodingKeys: String, CodingKey {
    case file, signature
    case entries = "keys"
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(shown(file), forKey: .file)
    try container.encode(signature.map { SignatureReport($0) }, forKey: .signature)
    try container.encode(entries.map { EntryReport($0) }, forKey: .entries)
  }
}

/// The result for one key.
private struct EntryReport: Encodable {
  let outcome: String
  let weight: String
  /// `nil`: for the whole file.
  let key: String?
  let line: Int?
  let text: String

  init(_ entry: ImportReport.Entry) {
    outcome = entry.outcome.rawValue
    weight = entry.weight.rawValue
    key = entry.key.isEmpty ? nil : entry.key
    line = entry.line
    text = entry.text
  }
}

private struct SignatureReport: Encodable {
  let signers: [String]
  let standing: String
  let reason: String?

  init(_ signature: ProfileSignature) {
    signers = signature.signers
    (standing, reason) =
      switch signature.standing {
      case .notVerified: ("not-verified", nil)
      case .verified: ("verified", nil)
      case .refuted(let reason): ("refuted", reason)
      }
  }
}
