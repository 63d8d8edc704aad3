import LinuxIO
import Testing

/// Rings 0 and 1 decide; they must not be able to touch the machine.
@Suite struct PureRingsTests {
  static let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }

  /// What each pure target may import: its neighbours, and nothing else. The readers of policies and profiles are pure too: the libraries
  /// that they read with are behind targets of a file or two, as values.
  static let allowed: [(target: String, imports: Set<String>)] = [
    ("NetworkTypes", []), ("JSON", ["NetworkTypes", "CJansson"]), ("KernelModel", ["NetworkTypes", "KeyMemory"]),
    ("PeerDetection", ["NetworkTypes"]), ("RoamwardCore", ["JSON", "NetworkTypes", "KernelModel", "KeyMemory", "PeerDetection"]),
    ("Wire", ["NetworkTypes", "KernelModel", "KeyMemory"]), ("PolicyLint", ["NetworkTypes", "KernelModel", "RoamwardCore"]),
    ("NameServer", ["NetworkTypes"]), ("Doctor", ["NetworkTypes", "KernelModel", "RoamwardCore"]),
    ("ControlProtocol", ["JSON", "NetworkTypes", "KernelModel", "RoamwardCore"]),
    ("Metrics", []), ("OpenVPNLanguage", []),
    ("StatusDisplay", ["ControlProtocol", "JSON", "Metrics", "NetworkTypes", "RoamwardCore"]),
    ("BugReport", ["JSON", "NetworkTypes", "YAMLEvents"]),
    ("PolicySource", ["JSON", "NetworkTypes", "KeyMemory", "KernelModel", "RoamwardCore", "PolicyFiles", "YAMLEvents"]),
    ("PolicyAuthoring", ["NetworkTypes", "RoamwardCore", "PolicyFiles", "PolicySource"]),
    ("FlightRecord", ["ControlProtocol", "JSON", "KeyMemory", "NetworkTypes", "RoamwardCore"]),
    ("History", ["ControlProtocol", "FlightRecord", "JSON", "NetworkTypes", "PolicySource", "RoamwardCore"]),
    (
      "PolicyImport",
      [
        "JSON", "KernelModel", "NetworkTypes", "OpenVPNLanguage", "RoamwardCore", "PolicyFiles", "PolicySource", "XMLEvents",
        "SignedMessages",
      ]
    ),
  ]

  /// The sources of the packages inside the repository.
  private static let packages = [
    "Packages/WireGuard/Sources", "Packages/Provider/Sources", "Packages/Gateway/Sources", "examples/providers",
  ].flatMap { folder in
    swiftFiles(in: "\(root)/\(folder)")
  }

  @Test("the pure targets import nothing of the machine", arguments: allowed)
  func imports(target: String, allowed: Set<String>) throws {
    let files = swiftFiles(in: "\(Self.root)/Sources/\(target)")
    #expect(!files.isEmpty)
    for file in files {
      let found = Set(importedModules(in: try text(file)))
      #expect(found.subtracting(allowed) == [], "\(file)")
    }
  }

  @Test("the WireGuard engine computes: two libraries of cryptography, and nothing that reaches the machine") func engine() throws {
    let files = swiftFiles(in: sources(of: "WireGuardEngine"))
    #expect(!files.isEmpty)
    for file in files {
      let found = Set(importedModules(in: try text(file)))
      #expect(
        found.subtracting(["NetworkTypes", "KeyMemory", "CSodium", "CBlake2", "CTransportCipher", "Synchronization"]) == [], "\(file)")
    }
  }

  @Test("the provider protocol computes, with strict memory safety; its library links nothing of the agent") func providerProtocol() throws
  {
    for (target, allowed) in [
      ("ProviderProtocol", ["JSON", "NetworkTypes"]),
      ("RoamwardProvider", ["CLinux", "CProviderIO", "Glibc", "JSON", "LinuxIO", "NetworkTypes", "ProviderProtocol"]),
      ("RoamwardProviderTesting", ["JSON", "NetworkTypes", "ProviderProtocol", "RoamwardProvider"]),
    ] {
      let files = swiftFiles(in: sources(of: target))
      #expect(!files.isEmpty)
      for file in files {
        #expect(Set(importedModules(in: try text(file))).subtracting(allowed) == [], "\(file)")
        if target == "ProviderProtocol" {
          for line in try text(file).split(separator: "\n") { #expect(!Self.waivesSafety(line), "\(file): \(line)") }
        }
      }
    }
    for (manifest, declaration) in [
      ("Package.swift", "uses: [\"JSON\", \"NetworkTypes\"], settings: safe + unnamed)"),
      ("Packages/Provider/Package.swift", "dependencies: [\"JSON\", \"NetworkTypes\"], swiftSettings: safe)"),
    ] {
      #expect(try text("\(Self.root)/\(manifest)").contains("\"ProviderProtocol\", \(declaration)"), "\(manifest)")
    }
  }

  @Test("the gateway's core decides, with strict memory safety") func gatewayCore() throws {
    let files = swiftFiles(in: sources(of: "GatewayCore"))
    #expect(!files.isEmpty)
    for file in files {
      let found = Set(importedModules(in: try text(file)))
      #expect(found.subtracting(["KernelModel", "KeyMemory", "Metrics", "NetworkTypes"]) == [], "\(file)")
      for line in try text(file).split(separator: "\n") { #expect(!Self.waivesSafety(line), "\(file): \(line)") }
    }
  }

  @Test(
    "what judges the page's requests computes, with strict memory safety",
    arguments: [
      ("PageProtocol", ["GatewayCore", "KernelModel", "LoginProtocol", "NetworkTypes"]),
      ("GatewayPage", ["GatewayCore", "JSON", "KernelModel", "NetworkTypes", "PageProtocol"]),
    ] as [(String, Set<String>)])
  func page(target: String, allowed: Set<String>) throws {
    let files = swiftFiles(in: sources(of: target))
    #expect(!files.isEmpty)
    for file in files {
      #expect(Set(importedModules(in: try text(file))).subtracting(allowed) == [], "\(file)")
      for line in try text(file).split(separator: "\n") { #expect(!Self.waivesSafety(line), "\(file): \(line)") }
    }
  }

  @Test("one file knows jansson") func jansson() throws {
    let files = try swiftFiles(in: "\(Self.root)/Sources").filter { importedModules(in: try text($0)).contains("CJansson") }
    #expect(files.map { $0.split(separator: "/").suffix(2).joined(separator: "/") } == ["JSON/JSONParsing.swift"])
  }

  @Test("keys are kept with libsodium alone, and nothing that reaches the machine") func keyMemory() throws {
    let files = swiftFiles(in: "\(Self.root)/Sources/KeyMemory")
    #expect(!files.isEmpty)
    for file in files {
      let found = Set(importedModules(in: try text(file)))
      #expect(found.subtracting(["CSodium", "Synchronization"]) == [], "\(file)")
    }
  }

  @Test("what reads servers' answers is in one target for agent and gateway each, which one program alone links") func strangers() throws {
    // The libraries, and what has them on our loop for both.
    let readers: Set<String> = ["CCurl", "CAres", "ClientLibraries"]
    let folders = [("Sources", "ProbeWorker", "roamward-probe"), ("Packages/Gateway/Sources", "GatewayOpenID", "roamward-gateway-oidc")]
    let declarations = try text("\(Self.root)/Package.swift").split(separator: "    .executableTarget(").dropFirst()
    for (folder, target, program) in folders {
      let own = ["/Sources/\(target)/", "/Sources/ClientLibraries/"]
      for file in swiftFiles(in: "\(Self.root)/\(folder)") where !own.contains(where: file.contains) {
        #expect(readers.isDisjoint(with: importedModules(in: try text(file))), "\(file)")
      }
      let worker = try swiftFiles(in: "\(Self.root)/\(folder)/\(target)").flatMap { importedModules(in: try text($0)) }
      #expect(readers.isSubset(of: worker))
      let users = declarations.filter { declaration in
        let end = declaration.firstRange(of: "swiftSettings")?.lowerBound ?? declaration.endIndex
        return declaration[..<end].contains("\"\(target)\"")
      }
      #expect(users.count == 1 && users.allSatisfy { $0.contains("name: \"\(program)\"") }, "\(users)")
    }
  }

  @Test("programs that read keys link the heap that wipes") func wipingHeap() throws {
    let manifest = try text("\(Self.root)/Package.swift").split(separator: ".executableTarget(")
    for program in ["roamwardd", "roamward"] {
      let declaration = manifest.first { $0.contains("name: \"\(program)\",") }
      #expect(declaration?.contains("\"CWipingHeap\"") == true, "\(program)")
    }
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
    let manifest = try text("\(Self.root)/Package.swift").filter { !$0.isWhitespace }
    for (target, _) in Self.allowed {
      #expect(manifest.contains("pure(\"\(target)\""))
      for file in swiftFiles(in: "\(Self.root)/Sources/\(target)") {
        // It marks each unsafe expression, as the compiler asks; another test keeps it alone.
        if file.hasSuffix("/JSON/JSONParsing.swift") { continue }
        for line in try text(file).split(separator: "\n") { #expect(!Self.waivesSafety(line), "\(file): \(line)") }
      }
    }
    #expect(manifest.contains("letsafe:[SwiftSetting]=strict+[.strictMemorySafety()]"))
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
    for file in swiftFiles(in: "\(Self.root)/Sources") + Self.packages {
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
