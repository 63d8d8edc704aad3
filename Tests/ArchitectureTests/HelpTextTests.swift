import JSON
import LinuxIO
import TestSupport
import Testing

/// The help of the built programs, as their argument parser prints it for tools.
@Suite struct HelpTextTests {
  struct Line: Hashable, CustomStringConvertible {
    /// Of a command and its option or argument.
    var name: String
    var text: String

    var description: String { "\(name): \(text)" }
  }

  static let limit = 60

  /// The verbs that abstracts of commands begin with.
  static let verbs: Set<String> = [
    "Accept", "Add", "Allow", "Apply", "Bring", "Change", "Check", "Copy", "Create", "Deny", "Disconnect", "Edit", "Enable", "End",
    "Evaluate",
    "Explain", "Export", "Find", "Give", "Import", "Keep", "Link", "List", "Manage", "Move", "Refuse", "Relay", "Remove", "Rename",
    "Replay",
    "Require", "Revert", "Revoke", "Run", "Send", "Set", "Show", "Stop", "Stream", "Suspend", "Take", "Use", "Validate", "Verify", "Wait",
  ]

  /// The faults in the abstract of a command.
  static func faults(ofCommand line: Line) -> [String] {
    let first = String(line.text.prefix { $0 != " " })
    return faults(of: line) + (verbs.contains(first) ? [] : ["\(line): \(first) is none of the verbs that commands begin with"])
  }

  /// The faults in a line of help.
  static func faults(of line: Line) -> [String] {
    var faults: [String] = []
    if line.text.count > limit { faults.append("\(line): longer than \(limit) characters") }
    if line.text.last != "." || line.text.contains("\n") { faults.append("\(line): is not one line that ends with a period") }
    let first = line.text.prefix { $0 != " " && $0 != "'" }
    if ["What", "Where", "Who", "Whom", "Whose", "How", "Why", "When", "Whatever", "Everything", "Its"].contains(first) {
      faults.append("\(line): begins with \(first)")
    }
    return faults
  }

  @Test("of each command is one imperative line, and of each option one line", arguments: ["roamward", "roamward-gateway"])
  func lines(program: String) throws {
    let folder = try TemporaryFolder()
    try shell("'\(LinkedProgramsTests.folder)/\(program)' --experimental-dump-help >'\(folder.path)/help'")
    let help = try JSON(parsing: try TextFile.read("\(folder.path)/help"))
    let root = try #require(help["command"])
    var (commands, options): ([Line], [Line]) = ([], [])
    func gather(_ command: JSON, _ path: String) {
      commands.append(Line(name: path, text: command["abstract"]?.string ?? ""))
      for argument in command["arguments"]?.array ?? [] {
        options.append(Line(name: "\(path) \(argument["valueName"]?.string ?? "")", text: argument["abstract"]?.string ?? ""))
      }
      // `help` is the argument parser's own.
      for other in command["subcommands"]?.array ?? [] where other["commandName"] != "help" {
        gather(other, "\(path) \(other["commandName"]?.string ?? "")")
      }
    }
    gather(root, program)
    #expect(commands.count >= 24 && options.count > 10)
    #expect(commands.flatMap(Self.faults(ofCommand:)) == [])
    #expect(options.flatMap(Self.faults(of:)) == [])
  }

  /// The words of a command line of a shell.
  private static func words(of line: String) -> [String] {
    var (words, quote): ([String], Character?) = ([""], nil)
    for character in line {
      if character == quote {
        quote = nil
      } else if quote == nil, character == "\"" || character == "'" {
        quote = character
      } else if quote == nil, character == " " {
        words.append("")
      } else {
        words[words.count - 1].append(character)
      }
    }
    return words
  }

  /// The faults in an example of a command: options that it does not declare, and too many or too few arguments.
  static func faults(of example: [String], _ command: JSON) -> [String] {
    let arguments = command["arguments"]?.array ?? []
    var (places, rest, isOpen): (Int, ArraySlice<String>, Bool) = (0, example[...], true)
    var faults: [String] = []
    while let word = rest.popFirst() {
      guard isOpen, word.hasPrefix("-") else {
        places += 1
        continue
      }
      if word == "--" {
        isOpen = false
      } else if let option = arguments.first(where: { $0["names"]?.array?.contains { "--\($0["name"]?.string ?? "")" == word } ?? false }) {
        if option["kind"] == "option", rest.popFirst() == nil { faults.append("\(word) has no value") }
      } else {
        faults.append("there is no \(word)")
      }
    }
    let positional = arguments.filter { $0["kind"] == "positional" }
    let needed = positional.count { $0["isOptional"] != true }
    if places < needed { faults.append("\(needed) arguments are needed") }
    if places > positional.count, !positional.contains(where: { $0["isRepeating"] == true }) { faults.append("too many arguments") }
    return faults
  }

  @Test("of each command ends with an example that the command understands", arguments: ["roamward", "roamward-gateway"])
  func examples(program: String) throws {
    let folder = try TemporaryFolder()
    try shell("'\(LinkedProgramsTests.folder)/\(program)' --experimental-dump-help >'\(folder.path)/help'")
    var count = 0
    func check(_ command: JSON, _ path: String) {
      let others = (command["subcommands"]?.array ?? []).filter { $0["commandName"] != "help" }
      for other in others { check(other, "\(path) \(other["commandName"]?.string ?? "")") }
      guard others.isEmpty else { return }
      count += 1
      let last = command["discussion"]?.string?.split(separator: "\n").last.map(String.init) ?? ""
      guard last.hasPrefix("Example: `\(path)"), last.hasSuffix("`") else {
        Issue.record("\(path): no example")
        return
      }
      let line = String(last.dropFirst("Example: `\(path)".count).dropLast())
      #expect(Self.faults(of: line.isEmpty ? [] : Array(Self.words(of: line).dropFirst()), command) == [], "\(last)")
    }
    let root = try #require(try JSON(parsing: try TextFile.read("\(folder.path)/help"))["command"])
    check(root, program)
    #expect(count > 30)
    // The help of the program itself has the first lines that a newcomer types.
    let lines = root["discussion"]?.string?.split(separator: "\n").map { $0.split(separator: " ").map(String.init) } ?? []
    let typed = lines.map { Array($0.first == "sudo" ? $0.dropFirst() : $0[...]) }.filter { $0.first == program }
    #expect(typed.count >= 4)
    for words in typed {
      var (command, rest) = (root, words.dropFirst())
      while let name = rest.first, let next = command["subcommands"]?.array?.first(where: { $0["commandName"]?.string == name }) {
        (command, rest) = (next, rest.dropFirst())
      }
      #expect(command["subcommands"]?.array == nil && Self.faults(of: Array(rest), command) == [], "\(words)")
    }
  }

  /// Declarations of commands in a text, and those that do not begin with the command's name.
  static func commands(in text: String) -> (all: Int, nameless: [String]) {
    let parts = text.split(separator: "CommandConfiguration(", omittingEmptySubsequences: false).dropFirst()
    let beginnings = parts.map { String($0.drop(while: \.isWhitespace).prefix(40)) }
    return (beginnings.count, beginnings.filter { !$0.hasPrefix("commandName: ") })
  }

  @Test("each command says its name: the argument parser makes missing ones from types, which takes half of a program's start")
  func names() throws {
    for program in ["roamward", "roamward-gateway"] {
      let texts = try swiftFiles(in: sources(of: program)).map { String(decoding: try TextFile.read($0), as: UTF8.self) }
      let commands = texts.map(Self.commands(in:))
      #expect(commands.flatMap(\.nameless) == [])
      // A command without a configuration would have no name either.
      let types = texts.map { $0.split(separator: ": ParsableCommand {", omittingEmptySubsequences: false).count - 1 }.reduce(0, +)
      #expect(types >= 20 && types == commands.map(\.all).reduce(0, +))
    }
    #expect(Self.commands(in: "CommandConfiguration(\n  abstract: \"x\") CommandConfiguration(commandName: \"y\")").nameless.count == 1)
  }

  @Test("of each option of roamwardd begins with one line too, and a mistake is told with what to type")
  func agent() throws {
    let folder = try TemporaryFolder()
    let program = "'\(LinkedProgramsTests.folder)/roamwardd'"
    try shell(
      "cd \(folder.path); \(program) --help >help; \(program) --help=x 2>flag; \(program) --policy 2>unknown; \(program) --socket 2>value; :"
    )
    func text(_ name: String) throws -> String { String(decoding: try TextFile.read("\(folder.path)/\(name)"), as: UTF8.self) }
    let lines = try text("help").split(separator: "\n").compactMap { (line: Substring) -> Line? in
      guard line.hasPrefix("  -"), let gap = line.dropFirst(2).firstRange(of: "  ") else { return nil }
      return Line(name: String(line[..<gap.lowerBound]), text: String(line[gap.upperBound...].drop { $0 == " " }))
    }
    #expect(lines.count == 16 && lines.flatMap(Self.faults(of:)) == [])
    #expect(try text("flag").hasPrefix("Error: '--help' takes no value\n"))
    #expect(try text("value").hasPrefix("Error: Missing value for '--socket'\n"))
    #expect(
      try text("unknown") == """
        Error: Unknown option '--policy'
        Usage: roamwardd [<options>]
          See 'roamwardd --help' for more information.

        """)
  }

  @Test("a command of roamward-gateway is parsed by itself, and a mistake in it is told as by the whole program") func gateway() throws {
    let folder = try TemporaryFolder()
    let program = "'\(LinkedProgramsTests.folder)/roamward-gateway'"
    try shell(
      "cd \(folder.path); \(program) user lock 2>missing; \(program) user lock x y 2>extra; \(program) user lock --help >help;"
        + " \(program) user lock --version >version; \(program) user lock alice --state \(folder.path) 2>store; :"
    )
    func text(_ name: String) throws -> String { String(decoding: try TextFile.read("\(folder.path)/\(name)"), as: UTF8.self) }
    let form = "roamward-gateway user lock <name> [--reason <text>] [--dry-run] [--json] [--state <folder>]"
    #expect(try text("missing").hasPrefix("Error: Missing expected argument '<name>'\n") && text("missing").contains("\nUsage: \(form)\n"))
    #expect(try text("extra").hasPrefix("Error: Unexpected argument 'y'\nUsage: \(form)\n"))
    #expect(try text("help").contains("\nUSAGE: \(form)\n"))
    // It works there, and is not told of in each command.
    let version = try VersionTests.version()
    #expect(try text("version") == "\(version)\n" && !text("help").contains("--version"))
    #expect(try text("store").contains("`roamward-gateway init` makes it"))
  }

  @Test(
    "the check sees lines that are not so",
    arguments: [
      "What would go wrong on this host.", "Tells what happens as it happens.", "Show all", "",
      "Show which DNS server resolves a name, and tell at length why it is just this one.",
    ])
  func detector(text: String) {
    #expect(!Self.faults(ofCommand: Line(name: "test", text: text)).isEmpty)
  }
}
