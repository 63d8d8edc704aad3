import Testing

/// The table of docs/security-kill-switch.md on the real kernel: what a café gets that attaches the laptop to a prefix of the
/// company's (TunnelCrack's LocalNet).
@Suite("A café that hands out the company's numbers", .needsLab)
struct LocalNetTests {
  private static let includes = [
    "routes: { include: [10.77.0.0/16, 'fd77::/48'] }", "routes: { include: [default] }", "include-all-networks: true",
  ]

  /// The same order as in `prefixes`.
  private func expected(_ include: String, _ guarding: String) -> String {
    let cells = include.contains("[default]") ? "outside outside inside outside" : "inside inside inside inside"
    return "[\(guarding): \(cells)]"
  }

  @Test("gets nothing that a policy names, and of a tunnel for everything only a credible local network", arguments: includes)
  func table(_ include: String) throws {
    let policy = guarded.with("kill-switch: always", "@").with("routes: { include: [default] }", include)
    let guardings: KeyValuePairs = [
      "off": policy.with("@\n    ", ""), "on": policy.with("@", "kill-switch: \"on\""), "always": policy.with("@", "kill-switch: always"),
      "enforce": policy.with("@\n    ", "").with(
        include, include.contains("routes") ? include.with("] }", "], enforce: true }") : "\(include)\n    routes: { enforce: true }"),
    ]
    let scene = try Scene(["corp.yaml": policy.with("@\n    ", "")])
    for (name, text) in guardings { try scene.write("\(name).yaml", text) }
    let seen = try scene.play("LocalNet/table")
    #expect(seen.lines == ["[all seen without the agent]"] + ["off", "on", "always", "enforce"].map { expected(include, $0) })
  }
}
