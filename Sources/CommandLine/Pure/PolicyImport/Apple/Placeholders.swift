/// True if a text is a placeholder for a real value: `REPLACE_ME`, `${SERVER}`, `{{ psk }}`, `<YOUR NAME>`, `%%KEY%%`.
func isPlaceholder(_ text: String) -> Bool {
  let upper = text.uppercased()
  let words = ["REPLACE_", "REPLACE-ME", "REPLACEME", "CHANGE_ME", "CHANGE-ME", "CHANGEME", "YOUR_", "INSERT_", "<YOUR"]
  if words.contains(where: { upper.contains($0) }) { return true }
  func holds(_ open: String, _ close: String) -> Bool {
    guard let start = text.range(ofText: open) else { return false }
    return String(text[start.upperBound...]).range(ofText: close) != nil
  }
  return holds("${", "}") || holds("{{", "}}") || holds("<%", "%>") || holds("%%", "%%")
}

/// Disables a tunnel whose settings contain placeholders. Only their places are reported, because they may be among secrets.
func recordPlaceholders(_ outer: Fields, _ inner: Fields?, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
  for leaf in outer.leaves + (inner?.leaves ?? []) where leaf.text.map(isPlaceholder) == true {
    report.record("\(shown(leaf.place.text)) is a placeholder that was never filled in", weight: .error, line: leaf.place.line)
    tunnel.obstacles.append("\(shown(leaf.place.text)) is a placeholder that was never filled in")
  }
}
