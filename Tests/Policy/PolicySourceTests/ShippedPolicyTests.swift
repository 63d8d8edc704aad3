import NetworkTypes
import PolicyFiles
import RoamwardCore
import Testing

@testable import PolicySource

/// The files of this repository, with wg-quick files that no one should ship.
enum Repository {
  static let root = folder(of: folder(of: folder(of: folder(of: #filePath))))

  static func text(_ path: String) throws -> String {
    let (bytes, _) = try PolicyFileSystem.linux.read("\(root)/\(path)", fileSizeLimit)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The manifest of a provider, where its package installs it.
  static func manifest(at path: String) -> String? {
    let folder = "/usr/lib/roamward/providers/"
    return path.hasPrefix(folder) ? try? text("packaging/providers/\(path.dropFirst(folder.utf8.count))") : nil
  }

  /// The machine's files, with keys and installed manifests that examples need.
  static var files: PolicyFileSystem {
    var files = PolicyFileSystem.linux
    let read = files.read
    files.read = { path, limit throws(FileFailure) in
      if path.hasSuffix(".conf") { return (Array(Samples.wireGuard.utf8), .init(kind: .regular, mode: 0o600)) }
      if let manifest = manifest(at: path) { return (Array(manifest.utf8), .init(kind: .regular, mode: 0o644)) }
      return try read(path, limit)
    }
    return files
  }

  static func load(_ path: String) -> LoadedPolicies {
    loadPolicies(layers: ["\(root)/\(path)"], files: files, requireRootOwnership: false)
  }

  static let policies = (try? PolicyFileSystem.linux.names("\(root)/policies"))?.filter { $0.hasSuffix(".yaml") }.sorted() ?? []
}

/// One line of a `.expect` file.
private struct Expectation {
  var network = NetworkSnapshot()
  var settings: [String] = []
  var assumptions: [String] = []
  var decisions: [(tunnel: String, decision: String)] = []
  var hosts: [(name: String, action: String)] = []
  var line = 0
}

private let expectationKeys = Mapping(
  subject: "an expectation", draft: Expectation(),
  keys: [
    Key("network", expects: "a file or a snapshot", schema: .anyText, "The network.", example: "cafe.yaml") { entry, draft, reading in
      draft.line = entry.keyLocation.line
      if case .scalar(let name, _) = entry.value.content {
        let path = "examples/networks/\(name)"
        let read = readSnapshot(text: Array(((try? Repository.text(path)) ?? "").utf8), file: path)
        if let snapshot = read.snapshot { draft.network = snapshot }
        for problem in read.diagnostics { reading.error("\(path): \(problem.message)", at: entry.value.location) }
      } else if let snapshot = readSnapshot(entry.value, &reading) {
        draft.network = snapshot
      }
    },
    Key("set", .oneOrMore(.line), "Invented facts.", example: "[power=battery]") { $0.settings = $1 },
    Key("assume", .oneOrMore(.line), "Answers of probes.", example: "[\"https://a.example/=ok\"]") { $0.assumptions = $1 },
    Key("expect", expects: "decisions", schema: .named(.anyText), "Decisions by tunnel.", example: "{ a: connect rule 1 }") {
      entry, draft, reading in
      draft.decisions = entries(of: entry, "decisions by tunnel", &reading).map { ($0.key, $0.value.text) }
    },
    Key("hosts", expects: "actions", schema: .named(.anyText), "What look-ups do.", example: "{ a.example: nothing }") {
      entry, draft, reading in
      draft.hosts = entries(of: entry, "actions by name", &reading).map { ($0.key, $0.value.text) }
    },
  ])

extension Node {
  fileprivate var text: String { if case .scalar(let text, _) = content { text } else { "" } }
}

@Suite struct ShippedPolicyTests {
  @Test("a shipped policy loads, and decides what stands beside it", arguments: Repository.policies)
  func decides(name: String) throws {
    let loaded = Repository.load("policies/\(name)")
    #expect(!loaded.hasErrors && loaded.policies.tunnels.count > 0, "\(loaded.report)")
    #expect(loaded.diagnostics.allSatisfy { $0.message.contains("is read; this version") }, "\(loaded.report)")
    let file = "policies/" + name.dropLast(5) + ".expect"
    let (root, problems) = readYAML(SourceText(file: file, bytes: Array(try Repository.text(file).utf8)))
    var reading = Reading(SourceText(file: file, bytes: []), problems: problems)
    guard case .sequence(let nodes)? = root?.content else { throw Unexpected() }
    let expectations = nodes.compactMap { expectationKeys.read($0, &reading) }
    #expect(reading.problems.sorted == [] && !expectations.isEmpty)
    let evaluator = Evaluator(networks: loaded.policies.networks)
    var rulesSeen: Set<String> = []
    for expectation in expectations {
      var network = expectation.network
      #expect(applySettings(expectation.settings, to: &network) == [])
      for text in expectation.assumptions { #expect(applyProbeAssumption(text, to: &network) == nil) }
      #expect(Set(expectation.decisions.map(\.tunnel)) == Set(loaded.policies.tunnels.map(\.name)), "\(file):\(expectation.line)")
      for (tunnel, expected) in expectation.decisions {
        let policy = try #require(loaded.policies.tunnel(named: tunnel))
        let decision = evaluator.decide(policy, on: network)
        let found = decision.outcome.rawValue + (decision.rule.map { " rule \($0.index)" } ?? "")
        #expect(found == expected, "\(file):\(expectation.line): \(tunnel), \(decision.ruleReason)")
        rulesSeen.insert("\(tunnel) \(decision.rule?.index ?? 0)")
        for (host, expected) in expectation.hosts {
          let rule = decision.rule.map { policy.onDemand.rules[$0.index - 1] }
          #expect(rule?.connections.first(for: domain(host))?.action.rawValue ?? "nothing" == expected, "\(host)")
        }
      }
    }
    for tunnel in loaded.policies.tunnels {
      for i in tunnel.onDemand.rules.indices { #expect(rulesSeen.contains("\(tunnel.name) \(i + 1)"), "no network shows rule \(i + 1)") }
    }
  }

  @Test("there are enough of them, they go together, and the index names each")
  func index() throws {
    #expect(Repository.policies.count >= 12)
    let all = Repository.load("policies")
    #expect(!all.hasErrors && all.files.count == Repository.policies.count, "\(all.report)")
    let index = try Repository.text("policies/README.md")
    for name in Repository.policies { #expect(index.contains("(\(name))"), "\(name)") }
  }

  @Test("a printed policy is read as the same, and prints the same again", arguments: Repository.policies)
  func prints(name: String) {
    let loaded = Repository.load("policies/\(name)")
    let text = PolicyPrinter.yaml(loaded.policies)
    var files = MemoryFiles(["/etc/p/1.yaml": text])
    for path in loaded.dependencies {
      files[path] = path.hasSuffix(".conf") ? Samples.wireGuard : "# list\nHome\nHome 5G\nhex:4361666501\n"
    }
    let again = files.load()
    #expect(!again.hasErrors && again.policies.withoutPlaces == loaded.policies.withoutPlaces, "\(again.report)\n\(text)")
    #expect(PolicyPrinter.yaml(again.policies) == text)
  }

  @Test("every example network loads")
  func networks() throws {
    let names = try PolicyFileSystem.linux.names("\(Repository.root)/examples/networks")
    #expect(names.count >= 8)
    for name in names {
      let (snapshot, diagnostics) = readSnapshot(text: Array(try Repository.text("examples/networks/\(name)").utf8), file: name)
      #expect(snapshot != nil && diagnostics == [], "\(name): \(diagnostics)")
    }
  }
}

extension PolicySet {
  /// The same, as if everything stood at one place.
  var withoutPlaces: PolicySet {
    let nowhere = Place(file: "", line: 1, column: 1)
    return PolicySet(
      networks: networks.map { NamedNetwork(name: $0.name, condition: $0.condition, location: nowhere) },
      tunnels: tunnels.map { tunnel in
        var tunnel = tunnel
        tunnel.location = nowhere
        for i in tunnel.onDemand.rules.indices {
          tunnel.onDemand.rules[i].location = nowhere
          for j in tunnel.onDemand.rules[i].connections.indices { tunnel.onDemand.rules[i].connections[j].location = nowhere }
        }
        return tunnel
      })
  }
}
