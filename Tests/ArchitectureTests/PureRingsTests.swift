import LinuxIO
import Testing

/// Rings 0 and 1 decide; they must not be able to touch the machine.
@Suite struct PureRingsTests {
  static let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }

  private static let pure = House.ours.inside.filter { $0.kind == "pure" }

  /// Modules that pure targets may import besides one another: values that a library reads behind them, and libraries that only compute.
  private static let values: Set<String> = ["KeyMemory", "PolicyFiles", "SignedMessages", "XMLEvents", "YAMLEvents", "Synchronization"]
  private static let computing = [
    "JSON": ["CJansson"], "WireGuardEngine": ["CBlake2", "CSodium", "CTransportCipher"],
  ]

  /// Sources that people copy.
  private static let examples = swiftFiles(in: "\(root)/examples/providers")

  @Test("pure targets import one another, and nothing of the machine", arguments: pure.map(\.name))
  func imports(target: String) throws {
    let allowed = Self.values.union(Self.pure.map(\.name)).union(Self.computing[target] ?? [])
    let files = swiftFiles(in: sources(of: target))
    #expect(!files.isEmpty)
    for file in files {
      let found = Set(importedModules(in: try text(file)))
      #expect(found.subtracting(allowed) == [], "\(file)")
    }
  }

  @Test("a provider's library links nothing of the agent", arguments: ["RoamwardProvider", "RoamwardProviderTesting"])
  func providerKit(target: String) throws {
    let allowed: Set = [
      "CLinux", "CProviderIO", "Glibc", "JSON", "LinuxIO", "NetworkTypes", "ProviderProtocol", "RoamwardProvider",
    ]
    for file in swiftFiles(in: sources(of: target)) {
      #expect(Set(importedModules(in: try text(file))).subtracting(allowed) == [], "\(file)")
    }
  }

  @Test("one file knows jansson") func jansson() throws {
    let files = try swiftFiles(in: "\(Self.root)/Sources").filter { importedModules(in: try text($0)).contains("CJansson") }
    #expect(files.map { $0.split(separator: "/").suffix(2).joined(separator: "/") } == ["JSON/JSONParsing.swift"])
  }

  @Test("keys are kept with libsodium alone, and nothing that reaches the machine") func keyMemory() throws {
    let files = swiftFiles(in: "\(Self.root)/Sources/Base/Rim/KeyMemory")
    #expect(!files.isEmpty)
    for file in files {
      let found = Set(importedModules(in: try text(file)))
      #expect(found.subtracting(["CSodium", "Synchronization"]) == [], "\(file)")
    }
  }

  @Test("what reads servers' answers is in one target for agent, gateway and proxy each, which one program alone links") func strangers()
    throws
  {
    // The libraries, and what has them on our loop for both.
    let shared: Set<String> = ["ClientLibraries", "ResolverLibrary"]
    let readers = shared.union(["CCurl", "CAres"])
    let workers = ["ProbeWorker": "roamward-probe", "GatewayOpenID": "roamward-gateway-oidc", "FlowRelay": "roamward-socks"]
    for room in House.ours.inside where !["c", "system", "tests"].contains(room.kind) && !shared.contains(room.name) {
      for file in swiftFiles(in: sources(of: room.name)) where workers[room.name] == nil {
        #expect(readers.isDisjoint(with: importedModules(in: try text(file))), "\(file)")
      }
    }
    for (target, program) in workers {
      let worker = try swiftFiles(in: sources(of: target)).flatMap { importedModules(in: try text($0)) }
      #expect(worker.contains("ResolverLibrary"))
      #expect(
        House.ours.inside.filter { $0.kind == "program" && $0.area != "examples" && $0.uses.contains(target) }.map(\.name) == [program])
    }
  }

  @Test("programs that read keys link the heap that wipes") func wipingHeap() throws {
    let programs = House.ours.inside.filter { $0.kind == "program" && !$0.uses.isDisjoint(with: ["KeyMemory", "GatewayCredentials"]) }
    for program in programs.map(\.name) + ["roamwardd", "roamward-provider"] {
      #expect(House.ours.rooms.contains { $0.name == program && $0.uses.contains("CWipingHeap") }, "\(program)")
    }
    #expect(programs.count > 1)
  }

  @Test("the check sees an import in every form that Swift has") func detector() {
    let text = """
      import Glibc
        @preconcurrency import Dispatch
      internal import struct Foundation.Data
      package import NetworkTypes
      // import Nothing
      let importance = 1
      """
    #expect(importedModules(in: text) == ["Glibc", "Dispatch", "Foundation", "NetworkTypes"])
  }

  @Test("no unsafe construct compiles in the pure targets: the manifest says strict memory safety, and no line waives it")
  func strictness() throws {
    for target in Self.pure.map(\.name) where target != "WireGuardEngine" {
      for file in swiftFiles(in: sources(of: target)) {
        // It marks each unsafe expression, as the compiler asks; another test keeps it alone.
        if file.hasSuffix("/JSON/JSONParsing.swift") { continue }
        for line in try text(file).split(separator: "\n") { #expect(!Self.waivesSafety(line), "\(file): \(line)") }
      }
    }
    let manifest = try text("\(Self.root)/Package.swift")
    #expect(manifest.contains("kind == \"pure\" && !has(\"unsafe\") ? [.strictMemorySafety()] : []"))
    #expect(manifest.split(separator: "\n").filter { $0.contains("+unsafe") }.map { $0.contains("pure WireGuardEngine:") } == [true])
    #expect(Self.waivesSafety("    let text = unsafe String(cString: text)") && Self.waivesSafety("@unsafe func f() {}"))
    #expect(Self.waivesSafety("  @safe struct A {}") && !Self.waivesSafety("  let unsafely = safe + [1]  // not unsafe"))
  }

  /// Whether a line uses a word by which strict memory safety lets something through.
  private static func waivesSafety(_ line: some StringProtocol) -> Bool {
    let code = line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line[...]
    let words = code.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == "@") }
    return words.contains { ["unsafe", "@unsafe", "@safe"].contains($0) }
  }

  @Test("each `@unchecked Sendable` and `nonisolated(unsafe)` says beside it why it is sound") func soundness() throws {
    var uses = 0
    for file in swiftFiles(in: "\(Self.root)/Sources") + Self.examples {
      let lines = try text(file).split(separator: "\n", omittingEmptySubsequences: false)
      for (i, line) in lines.enumerated() where line.contains("@unchecked Sendable") || line.contains("nonisolated(unsafe)") {
        uses += 1
        let beside = lines[max(0, i - 1)...min(lines.count - 1, i + 1)]
        #expect(beside.contains { $0.contains("// Sound: ") }, "\(file):\(i + 1)")
      }
    }
    #expect(uses > 0)
  }

  private func text(_ path: String) throws -> String { String(decoding: try TextFile.read(path), as: UTF8.self) }
}
