import LinuxIO
import Testing

/// Rings 0 and 1 decide; they must not be able to touch the machine.
@Suite struct PureRingsTests {
  static let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }

  /// What each pure target may import: its neighbours, and nothing else.
  static let allowed: [(target: String, imports: Set<String>)] = [
    ("NetworkTypes", []), ("KernelModel", ["NetworkTypes", "KeyMemory"]), ("RoamwardCore", ["NetworkTypes", "KernelModel", "KeyMemory"]),
    ("Wire", ["NetworkTypes", "KernelModel", "KeyMemory"]), ("PolicyLint", ["NetworkTypes", "KernelModel", "RoamwardCore"]),
    ("Doctor", ["NetworkTypes", "KernelModel", "RoamwardCore"]),
  ]

  @Test("the pure rings import nothing of the machine", arguments: allowed)
  func imports(target: String, allowed: Set<String>) throws {
    let files = swiftFiles(in: "\(Self.root)/Sources/\(target)")
    #expect(!files.isEmpty)
    for file in files {
      let found = Set(importedModules(in: try text(file)))
      #expect(found.subtracting(allowed) == [], "\(file)")
    }
  }

  @Test("the WireGuard engine computes: two libraries of cryptography, and nothing that reaches the machine") func engine() throws {
    let files = swiftFiles(in: "\(Self.root)/Sources/WireGuardEngine")
    #expect(!files.isEmpty)
    for file in files {
      let found = Set(importedModules(in: try text(file)))
      #expect(found.subtracting(["NetworkTypes", "KeyMemory", "CSodium", "CBlake2", "Synchronization"]) == [], "\(file)")
    }
  }

  @Test("keys are kept with libsodium alone, and nothing that reaches the machine") func keyMemory() throws {
    let files = swiftFiles(in: "\(Self.root)/Sources/KeyMemory")
    #expect(!files.isEmpty)
    for file in files {
      let found = Set(importedModules(in: try text(file)))
      #expect(found.subtracting(["CSodium", "Synchronization"]) == [], "\(file)")
    }
  }

  @Test("what reads strangers' bytes is in one target, which one program alone links") func strangers() throws {
    let readers: Set<String> = ["CCurl", "CAres"]
    for file in swiftFiles(in: "\(Self.root)/Sources") where !file.contains("/Sources/ProbeWorker/") {
      #expect(readers.isDisjoint(with: importedModules(in: try text(file))), "\(file)")
    }
    let worker = try swiftFiles(in: "\(Self.root)/Sources/ProbeWorker").flatMap { importedModules(in: try text($0)) }
    #expect(readers.isSubset(of: worker))
    let declarations = try text("\(Self.root)/Package.swift").split(separator: "    .executableTarget(").dropFirst()
    let users = declarations.filter { declaration in
      let end = declaration.firstRange(of: "swiftSettings")?.lowerBound ?? declaration.endIndex
      return declaration[..<end].contains("\"ProbeWorker\"")
    }
    #expect(users.count == 1 && users.allSatisfy { $0.contains("name: \"roamward-probe\"") }, "\(users)")
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

  @Test("no unsafe construct compiles in the pure rings: the manifest says strict memory safety") func strictness() throws {
    let manifest = try text("\(Self.root)/Package.swift")
    for (target, _) in Self.allowed { #expect(manifest.contains("pure(\"\(target)\"")) }
    #expect(manifest.contains("let safe: [SwiftSetting] = strict + [.strictMemorySafety()]"))
  }

  @Test("each `@unchecked Sendable` and `nonisolated(unsafe)` says beside it why it is sound") func soundness() throws {
    var uses = 0
    for file in swiftFiles(in: "\(Self.root)/Sources") {
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
