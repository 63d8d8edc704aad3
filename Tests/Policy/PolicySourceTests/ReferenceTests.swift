import PolicyLint
import RoamwardCore
import Testing

@testable import PolicySource

#if canImport(Glibc)
  import Glibc
#endif

/// With `UPDATE_DOCS=1` in the environment the documents are written anew instead of compared.
private func compare(_ text: String, with path: String) throws {
  if getenv("UPDATE_DOCS") != nil, let file = fopen("\(Repository.root)/\(path)", "w") {
    fputs(text, file)
    fclose(file)
  }
  #expect(try Repository.text(path) == text, "run the tests with UPDATE_DOCS=1 and read what changed")
}

@Suite(.serialized) struct ReferenceTests {
  @Test("the JSON Schema is the one of these declarations")
  func schema() throws { try compare(policySchema(), with: "docs/policy.schema.json") }

  @Test("the reference's tables are those of these declarations")
  func tables() throws {
    let text = try Repository.text("docs/policy-reference.md")
    var parts = text.components(at: "<!-- keys of ")
    var seen: [String] = []
    for i in parts.indices.dropFirst() {
      let subject = String(parts[i].prefix { $0 != ">" }.dropLast(3))
      let mapping = try #require((KeyTable.policy + KeyTable.snapshot).first { $0.subject == subject }, "\(subject)")
      seen.append(subject)
      let end = try #require(parts[i].firstRange(of: "<!-- end -->"))
      parts[i] = "\(subject) -->\n\(mapping.markdown)" + parts[i][end.lowerBound...]
    }
    #expect(Set(seen) == Set((KeyTable.policy + KeyTable.snapshot).map(\.subject)))
    try compare(parts.joined(separator: "<!-- keys of "), with: "docs/policy-reference.md")
  }

  @Test("the example of every key is read without an error", arguments: (KeyTable.policy + KeyTable.snapshot).indices)
  func examples(index: Int) {
    let mapping = (KeyTable.policy + KeyTable.snapshot)[index]
    let files = MemoryFiles([
      "/etc/p/corp.conf": Samples.wireGuard, "/etc/p/trusted.ssids": "Home\n", "/etc/p/corp.password": "secret\n",
      "/etc/p/office.prefixes": "10.20.0.0/16\n", "/etc/p/country.prefixes": "198.51.100.0/24\n",
      "/etc/p/corp.pac": "function FindProxyForURL(url, host) { return \"DIRECT\"; }\n",
    ])
    for key in mapping.keys {
      let surroundings = Surroundings(files: files.system, folder: "/etc/p", requireRootOwnership: true)
      let problems = mapping.read("\(key.name): \(key.example)", surroundings)
      let errors = problems.filter { $0.severity == .error && !$0.message.contains("is missing in") }
      #expect(errors == [], "\(mapping.subject), \(key.name): \(errors.map { $0.rendered() })")
      #expect(!key.about.isEmpty && key.about.hasSuffix("."), "\(key.name)")
    }
  }

  @Test("the reference tells of every kind of warning")
  func warnings() throws {
    let text = try Repository.text("docs/policy-reference.md")
    for kind in LintFinding.Kind.allCases { #expect(text.contains("\n| `\(kind.rawValue)` | "), "\(kind.rawValue)") }
  }

  @Test("the reference tells where each fact that sources are asked for comes from, and lists each key of --set") func facts() throws {
    let text = try Repository.text("docs/policy-reference.md")
    let sources = try #require(text.components(at: "### Where facts come from").last).components(at: "\n#")[0]
    let settings = try #require(text.components(at: "\nKeys of `--set`: ").last).components(at: "\n\n")[0]
    for fact in FactTable.all {
      let names = FactTable.keys.filter { $0.fact == fact.key }.map(\.name)
      if fact.kind != nil { #expect(names.contains { sources.contains("`\($0)`") }, "no source of \(fact.key)") }
      if let name = names.first { #expect(settings.contains("`\(name)`"), "\(name)") }
    }
  }

  @Test("the operator's guide lists every reason code") func reasonCodes() throws {
    let text = try Repository.text("docs/operations.md")
    for code in ReasonCode.allCases { #expect(text.contains("\n| `\(code.rawValue)` | "), "\(code.rawValue)") }
  }

  @Test("the operator's guide lists every reason to wake") func wakeReasons() throws {
    let text = try Repository.text("docs/operations.md")
    for reason in WakeReason.allCases { #expect(text.contains("\n| `\(reason.rawValue)` | "), "\(reason.rawValue)") }
  }

  @Test("every example of the documents loads", arguments: ["docs/policy-reference.md", "README.md", "docs/tour.md"])
  func documents(path: String) throws {
    let text = try Repository.text(path)
    let blocks = text.components(at: "```yaml\n").dropFirst().map { $0.components(at: "\n```")[0] + "\n" }
    #expect(!blocks.isEmpty)
    for block in blocks {
      let isTimeline = block.contains("\nsteps:")
      if isTimeline {
        let (timeline, diagnostics) = readTimeline(text: Array(block.utf8), file: path) { _ in Array("version: 1\n".utf8) }
        #expect(timeline?.steps.isEmpty == false && diagnostics == [], "\(diagnostics.map { $0.rendered() })\n\(block)")
        continue
      }
      if block.contains("\nlinks:") {
        let (snapshot, diagnostics) = readSnapshot(text: Array(block.utf8), file: path)
        #expect(snapshot != nil && diagnostics == [], "\(diagnostics.map { $0.rendered() })\n\(block)")
      } else {
        let lists = [
          "/etc/p/trusted.ssids": "Home\n", "/etc/p/trusted-ssids.txt": "Home\n", "/etc/p/private.conf": Samples.wireGuard,
          "/etc/p/lab.conf": Samples.wireGuard,
        ]
        let loaded = load(block, lists)
        #expect(!loaded.hasErrors, "\(loaded.report)\n\(block)")
        #expect(!loaded.policies.networks.isEmpty || !loaded.policies.tunnels.isEmpty)
      }
    }
  }
}

extension String {
  /// Split at each occurrence.
  fileprivate func components(at separator: String) -> [String] {
    split(separator: separator, omittingEmptySubsequences: false).map { String($0) }
  }
}
