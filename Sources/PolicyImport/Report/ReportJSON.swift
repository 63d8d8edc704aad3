package import ControlProtocol

extension ImportReport {
  package var json: JSON {
    .object([
      "file": .string(shown(file)), "signature": signature?.json ?? .null,
      "keys": .array(
        entries.map { entry in
          .object([
            "outcome": .string(entry.outcome.rawValue), "weight": .string(entry.weight.rawValue),
            "key": entry.key.isEmpty ? .null : .string(entry.key), "line": JSON(entry.line), "text": .string(entry.text),
          ])
        }),
    ])
  }
}

extension ProfileSignature {
  fileprivate var json: JSON {
    let (word, reason): (String, String?) =
      switch standing {
      case .notVerified: ("not-verified", nil)
      case .verified: ("verified", nil)
      case .refuted(let because): ("refuted", because)
      }
    return .object(["signers": JSON(signers), "standing": .string(word), "because": JSON(reason)])
  }
}
