import JSON
import LinuxIO
import TestSupport
import Testing

/// Commands that are written with one letter left out.
@Suite struct MistypedCommandTests {
  /// The paths of the commands of a program, as its argument parser prints them for tools.
  private static func paths(of command: JSON, below path: [String] = []) -> [[String]] {
    (command["subcommands"]?.array ?? []).flatMap { other -> [[String]] in
      guard let name = other["commandName"]?.string, name != "help" else { return [] }
      return [path + [name]] + paths(of: other, below: path + [name])
    }
  }

  @Test("each command of both programs is named when a letter of it is missing", arguments: ["roamward", "roamward-gateway"])
  func nearest(program: String) throws {
    let folder = try TemporaryFolder()
    let path = "\(LinkedProgramsTests.folder)/\(program)"
    try shell("'\(path)' --experimental-dump-help >'\(folder.path)/help'")
    let help = try JSON(parsing: try TextFile.read("\(folder.path)/help"))
    let paths = Self.paths(of: try #require(help["command"]))
    #expect(paths.count >= 24)
    // One shell for all, since a start costs more than the command.
    let lines = paths.enumerated().compactMap { number, words -> String? in
      guard let last = words.last, last.count > 4 else { return nil }
      let wrong = words.dropLast() + [String(last.prefix(2)) + last.dropFirst(3)]
      return "'\(path)' \(wrong.joined(separator: " ")) >/dev/null 2>'\(folder.path)/\(number)'; echo $? >>'\(folder.path)/\(number)'"
    }
    #expect(lines.count > 15)
    try shell(lines.joined(separator: "\n"))
    var unnamed: [String] = []
    for (number, words) in paths.enumerated() where words.last.map({ $0.count > 4 }) == true {
      let said = String(decoding: try TextFile.read("\(folder.path)/\(number)"), as: UTF8.self)
      // One letter less may be another command.
      guard said.hasSuffix("\n2\n") && said.contains("did you mean `\(program) \(words.joined(separator: " "))`?") else {
        unnamed.append("\(words.joined(separator: " ")): \(said)")
        continue
      }
    }
    #expect(unnamed == [])
  }

  @Test("a command of an earlier version is answered with its present name") func renamed() throws {
    let folder = try TemporaryFolder()
    let path = "\(LinkedProgramsTests.folder)/roamward-gateway"
    for (old, new) in [
      ("login enable", "set logins on"), ("audit verify", "audit --verify"), ("access check alice 10.0.0.1", "evaluate"),
      ("forward", "serve --forwarding"),
      ("settings set --route 10.0.0.0/8", "set settings.everybody"),
    ] {
      try shell("'\(path)' \(old) >/dev/null 2>'\(folder.path)/said'; echo $? >>'\(folder.path)/said'")
      let said = String(decoding: try TextFile.read("\(folder.path)/said"), as: UTF8.self)
      #expect(said.hasSuffix(" is called `roamward-gateway \(new)` now\n2\n"), "\(old): \(said)")
    }
  }
}
