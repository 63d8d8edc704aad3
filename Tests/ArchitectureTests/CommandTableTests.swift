import JSON
import LinuxIO
import TestSupport
import Testing

/// Commands that someone could forget to add to their group, to the documents or to the scenes.
@Suite struct CommandTableTests {
  /// The commands of a program, as its argument parser prints them for tools.
  private static func commands(of program: String) throws -> JSON {
    let folder = try TemporaryFolder()
    try shell("'\(LinkedProgramsTests.folder)/\(program)' --experimental-dump-help >'\(folder.path)/help'")
    return try #require(try JSON(parsing: try TextFile.read("\(folder.path)/help"))["command"])
  }

  /// The names of a program's commands, with those of groups.
  private static func names(of program: String) throws -> [String] {
    func all(_ command: JSON) -> [String] {
      // `help` is the argument parser's own.
      (command["subcommands"]?.array ?? []).filter { $0["commandName"] != "help" }.flatMap { [$0["commandName"]?.string ?? ""] + all($0) }
    }
    return all(try commands(of: program))
  }

  /// The commands of a program that do something, each with the names of its groups before it.
  private static func leaves(of program: String) throws -> [[String]] {
    func all(_ command: JSON, _ path: [String]) -> [[String]] {
      let parts = (command["subcommands"]?.array ?? []).filter { $0["commandName"] != "help" }
      return parts.isEmpty ? [path] : parts.flatMap { all($0, path + [$0["commandName"]?.string ?? ""]) }
    }
    return all(try commands(of: program), [])
  }

  /// The texts of all files in these folders of the repository, without those of folders in them.
  private static func texts(in folders: [String]) -> [String] {
    folders.flatMap { folder in
      Folder.names(in: "\(PureRingsTests.root)/\(folder)").compactMap { name in
        (try? TextFile.read("\(PureRingsTests.root)/\(folder)/\(name)")).map { String(decoding: $0, as: UTF8.self) }
      }
    }
  }

  /// The texts of all files below a folder.
  private static func texts(below path: String) -> [String] {
    Folder.names(in: path).flatMap { name -> [String] in
      // A folder is none that can be read.
      guard let bytes = try? TextFile.read("\(path)/\(name)") else { return texts(below: "\(path)/\(name)") }
      return [String(decoding: bytes, as: UTF8.self)]
    }
  }

  /// Whether a line of the text has the word `roamward`, and after it the command.
  static func isNamed(_ command: String, in text: String) -> Bool {
    text.split(whereSeparator: \.isNewline).contains { line in
      let words = line.split { !$0.isLetter && $0 != "-" }
      return words.drop { $0 != "roamward" }.dropFirst().contains { $0 == command }
    }
  }

  @Test("each command that is declared is in a group of its program", arguments: ["roamward", "roamward-gateway"])
  func grouped(program: String) throws {
    let texts = try swiftFiles(in: sources(of: program)).map { String(decoding: try TextFile.read($0), as: UTF8.self) }
    let declared = texts.flatMap { text in
      text.split(separator: "commandName: \"", omittingEmptySubsequences: false).dropFirst().map { String($0.prefix { $0 != "\"" }) }
    }
    #expect(declared.filter { $0 != program }.sorted() == (try Self.names(of: program)).sorted())
  }

  /// The gateway's commands of two words that have other names now.
  private static func retired() throws -> [(String, String)] {
    let source = texts(below: sources(of: "roamward-gateway")).first { $0.contains("let renamed = [") }
    let text = try #require(source)
    let table = try #require(text.split(separator: "let renamed = [").last).prefix { $0 != "]" }
    let parts = table.split(separator: "\"")
    let names: [[Substring]] = zip(parts, parts.dropFirst()).filter { $0.1 == ": " }.map { $0.0.split(separator: " ") }
    return names.filter { $0.count == 2 }.map { (String($0[0]), String($0[1])) }
  }

  /// Whether a script calls a command of the gateway: in words, or in a list of strings.
  static func calls(_ command: (String, String), in text: String) -> Bool {
    let words = ["roamward-gateway", "gateway", "company"].map { "\($0) \(command.0) \(command.1)" }
    return text.contains("\"\(command.0)\", \"\(command.1)\"")
      || words.contains { words in text.ranges(of: words).contains { !(text[$0.upperBound...].first ?? " ").isLetter } }
  }

  @Test(
    "no script calls a command by the name of an earlier version",
    arguments: [
      "Benchmarks", "scripts", "examples", "packaging", "Tests/ScenarioTests/Scenes", "Tests/VM", "Tests/Packages", "Tests/Container",
    ])
  func noRetiredCommand(folder: String) throws {
    let present = try Set(Self.leaves(of: "roamward-gateway").map { $0.joined(separator: " ") })
    let retired = try Self.retired().filter { !present.contains("\($0.0) \($0.1)") }
    #expect(retired.count > 30)
    let texts = Self.texts(below: "\(PureRingsTests.root)/\(folder)")
    #expect(!texts.isEmpty)
    for command in retired { #expect(!texts.contains { Self.calls(command, in: $0) }, "`\(command.0) \(command.1)` is called") }
    #expect(Self.calls(("access", "allow"), in: "run(gateway, \"access\", \"allow\", \"all\")"))
    #expect(Self.calls(("access", "allow"), in: "gateway access allow all") && !Self.calls(("peer", "add"), in: "gateway peer address"))
  }

  @Test("each command of roamward is in a document, and in a scene") func told() throws {
    let commands = try Self.leaves(of: "roamward")
    #expect(commands.count > 30)
    let documents = Self.texts(in: ["docs", "docs/how-to"])
    let scenes = Self.texts(below: "\(PureRingsTests.root)/Tests/ScenarioTests")
    for command in commands {
      let name = command.joined(separator: " ")
      #expect(documents.contains { Self.has(["roamward"] + command, in: $0) }, "no document shows `roamward \(name)`")
      let isRun = scenes.contains { command.count > 1 ? Self.has(command, in: $0) : Self.isNamed(name, in: $0) }
      #expect(isRun, "no scene runs `roamward \(name)`")
    }
  }

  /// Whether a line of the text has these words, one after the other.
  static func has(_ command: [String], in text: String) -> Bool {
    text.split(whereSeparator: \.isNewline).contains { line in
      let words = line.split { !$0.isLetter && $0 != "-" }.map(String.init)
      return words.indices.contains { words[$0...].starts(with: command) }
    }
  }

  @Test("each command of roamward-gateway is in a scene") func gateway() throws {
    let commands = try Self.leaves(of: "roamward-gateway")
    #expect(commands.count > 40)
    let scenes = ["Gateway/GatewayServeTests/Scenes", "ScenarioTests"].flatMap { Self.texts(below: "\(PureRingsTests.root)/Tests/\($0)") }
    for command in commands {
      #expect(scenes.contains { Self.has(command, in: $0) }, "no scene runs `roamward-gateway \(command.joined(separator: " "))`")
    }
  }

  /// The commands of `roamward-gateway` that a text quotes, each with the word after it.
  static func quoted(in text: String) -> [[String]] {
    text.split(separator: "roamward-gateway ", omittingEmptySubsequences: false).dropFirst().enumerated().compactMap { i, rest in
      let before = text.split(separator: "roamward-gateway ", omittingEmptySubsequences: false)[i]
      let isTyped = before.split(separator: "\n", omittingEmptySubsequences: false).last?.hasPrefix("$ ") ?? false
      let signs = ["`", "\n# ", "help: ", "/usr/sbin/"]
      guard isTyped || signs.contains(where: { before.hasSuffix($0) }) else { return nil }
      // Within backticks, a command may go on in the next line.
      let end: (Character) -> Bool = before.hasSuffix("`") ? { $0 == "`" } : { "`\n\"".contains($0) }
      let words = rest.prefix { !end($0) }.split(maxSplits: 2, whereSeparator: \.isWhitespace).prefix(2)
      let named = words.prefix { word in word.allSatisfy { $0.isLowercase && $0.isLetter || $0 == "-" } && !word.hasPrefix("-") }
      return named.isEmpty ? nil : named.map(String.init)
    }
  }

  @Test("each command of roamward-gateway that a text quotes is there") func quotations() throws {
    func named(_ command: JSON) -> [String: JSON] {
      let parts = (command["subcommands"]?.array ?? []).flatMap { part in
        ([part["commandName"]?.string ?? ""] + (part["aliases"]?.array ?? []).compactMap(\.string)).map { ($0, part) }
      }
      return Dictionary(parts) { first, _ in first }
    }
    let all = named(try Self.commands(of: "roamward-gateway"))
    let root = PureRingsTests.root
    let files = ["docs", "Sources/Gateway", "Sources/Programs", "packaging"].flatMap { Self.texts(below: "\(root)/\($0)") }
    var count = 0
    for text in files + Self.texts(in: [""]) {
      for words in Self.quoted(in: text) {
        count += 1
        guard let command = all[words[0]] else {
          Issue.record("there is no `roamward-gateway \(words[0])`")
          continue
        }
        let parts = named(command)
        let takesWords = (command["arguments"]?.array ?? []).contains { $0["kind"] == "positional" }
        let isThere = words.count < 2 || (parts.isEmpty ? takesWords : parts[words[1]] != nil)
        #expect(isThere, "there is no `roamward-gateway \(words.joined(separator: " "))`")
      }
    }
    #expect(count > 100)
  }

  @Test("the check sees a command within a text") func detector() {
    #expect(Self.quoted(in: "a `roamward-gateway user\n  list` b\n# roamward-gateway set x 1\n") == [["user", "list"], ["set", "x"]])
    #expect(Self.quoted(in: "help: roamward-gateway nothing \\(x)") == [["nothing"]])
    #expect(Self.has(["login", "pam"], in: "a\n$gateway login pam x"))
    #expect(!Self.has(["login", "pam"], in: "login\npam, login x pam"))
    #expect(Self.has(["roamward", "up"], in: "a\n`roamward up`"))
    #expect(!Self.has(["roamward", "up"], in: "roamward upper\nroamward a up"))
    #expect(Self.isNamed("up", in: "roamward a up"))
    #expect(!Self.isNamed("up", in: "up roamward\nup"))
  }
}
