import Glibc
import LinuxIO
import Testing

/// Scenes are files of bash, which `scripts/lint` checks, and no strings in Swift.
@Suite("Files of scenes") struct SceneFileTests {
  private static let tests = "\(PureRingsTests.root)/Tests/ScenarioTests"

  /// The files of tests that still pass texts of bash to `Scene.run`. The list may never grow.
  private static let exceptions: Set<String> = ["Scene", "ShownCommandsTests"]

  /// The texts of the Swift files of scenes, by name without suffix.
  private static func swift() throws -> [String: String] {
    try Dictionary(
      uniqueKeysWithValues: Folder.names(in: tests).filter { $0.hasSuffix(".swift") }.map {
        (String($0.dropLast(6)), String(decoding: try TextFile.read("\(tests)/\($0)"), as: UTF8.self))
      })
  }

  /// The scenes by the names that tests have for them, `Suite/name` or `name`, with their texts.
  private static func scenes() throws -> [String: String] {
    let folder = "\(tests)/Scenes"
    let names = Folder.names(in: folder).flatMap { name in
      name.hasSuffix(".bash") ? [name] : Folder.names(in: "\(folder)/\(name)").filter { $0.hasSuffix(".bash") }.map { "\(name)/\($0)" }
    }
    return try Dictionary(
      uniqueKeysWithValues: names.map { (String($0.dropLast(5)), String(decoding: try TextFile.read("\(folder)/\($0)"), as: UTF8.self)) })
  }

  @Test("no test holds a scene as a string") func noStrings() throws {
    let holding = try Self.swift().filter { _, text in
      text.split(whereSeparator: \.isNewline).contains {
        $0.contains(".run(") && !$0.contains("Typed.run(") || $0.contains("func run(_ script")
      }
    }
    #expect(Set(holding.keys) == Self.exceptions.intersection(holding.keys), "a scene is a file below Tests/ScenarioTests/Scenes")
    #expect(Self.exceptions.subtracting(holding.keys).isEmpty, "these have no string any more: take them off the list")
  }

  @Test("each file is played by a test, or read by another file") func used() throws {
    let (swift, scenes) = (try Self.swift(), try Self.scenes())
    #expect(scenes.count > 250)
    for name in scenes.keys.sorted() {
      let isPlayed = swift.values.contains {
        $0.contains("\"\(name)\"") || $0.contains("\"\(name).bash\"") || $0.contains("/\(name).bash'")
      }
      let isRead = scenes.contains { $0.key != name && $0.value.contains("source \"$tests/\(name).bash\"") }
      #expect(isPlayed || isRead, "\(name).bash: nothing uses it")
    }
  }

  /// The folder that a script calls `tests`, below `Tests`; `nil`: it has none.
  private static func folder(of text: String) -> Substring? {
    guard let assignment = text.firstRange(of: "tests=$") else { return nil }
    let value = text[assignment.upperBound...].prefix { !$0.isNewline }
    guard let at = value.firstRange(of: "ScenarioTests") else { return nil }
    return value[at.lowerBound...].prefix { !"\") ".contains($0) }
  }

  @Test("scripts beside the scenes find the files of scenes that they use") func found() throws {
    var uses = 0
    for folder in ["Tests/VM", "Tests/Desktop", "Tests/Places", "Benchmarks"] {
      for file in Folder.names(in: "\(PureRingsTests.root)/\(folder)") {
        guard let bytes = try? TextFile.read("\(PureRingsTests.root)/\(folder)/\(file)") else { continue }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.hasPrefix("#!"), let tests = Self.folder(of: text) else { continue }
        for part in text.split(separator: "$tests/", omittingEmptySubsequences: false).dropFirst() {
          let name = part.prefix { $0.isLetter || $0.isNumber || "-_./".contains($0) }
          if name.isEmpty { continue }
          uses += 1
          let path = "\(PureRingsTests.root)/Tests/\(tests)/\(name)"
          #expect(access(path, F_OK) == 0, "\(folder)/\(file): \(tests)/\(name) is not there")
        }
      }
    }
    #expect(uses >= 2)
  }

  @Test("each scene that a test plays is there") func present() throws {
    let scenes = try Self.scenes()
    for (file, text) in try Self.swift() {
      for part in text.split(separator: ".play(\"", omittingEmptySubsequences: false).dropFirst() {
        let name = String(part.prefix { $0 != "\"" })
        #expect(scenes[name] != nil, "\(file).swift: \(name)")
      }
    }
  }

  /// The number of sleeps that have no reason beside them; it may only get smaller.
  private static let unexplained = 24

  /// Whether a line of a scene sleeps for a moment, outside of a loop that looks again and again. A program that sleeps for minutes stands
  /// for another one.
  private static func sleeps(_ line: Substring) -> Bool {
    guard !line.hasPrefix("#"), !line.contains("while "), !line.contains("until ") else { return false }
    let parts = line.split(separator: "sleep ", omittingEmptySubsequences: false)
    return zip(parts, parts.dropFirst()).contains { before, after in
      let begins = before.allSatisfy { $0 == " " } || ["; ", "{ ", "& ", "(", "do ", "then "].contains { before.hasSuffix($0) }
      let number = after.prefix { $0.isNumber || $0 == "." }
      return begins && !number.isEmpty && number.prefix { $0.isNumber }.count < 3
    }
  }

  @Test("a scene awaits a state; where it sleeps, it says which event there is not") func noMoments() throws {
    let gateway = "\(PureRingsTests.root)/Tests/Gateway/GatewayServeTests/Scenes"
    let others = try Folder.names(in: gateway).filter { $0.hasSuffix(".bash") }.map {
      ("gateway: \($0)", String(decoding: try TextFile.read("\(gateway)/\($0)"), as: UTF8.self))
    }
    var found: [String] = []
    for (name, text) in try Self.scenes().map({ ($0.key, $0.value) }) + others {
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      for (number, line) in lines.enumerated() where Self.sleeps(line) {
        let above = number > 0 ? lines[number - 1] : ""
        if !line.contains("# no event: "), !above.contains("# No event: ") { found.append("\(name), line \(number + 1): \(line)") }
      }
    }
    let list = found.sorted().joined(separator: "\n")
    #expect(found.count <= Self.unexplained, "await a state, or write the reason beside it as `# no event: `:\n\(list)")
    #expect(found.count >= Self.unexplained, "fewer sleeps are left without a reason: write \(found.count)")
  }
}
