import Glibc
import JSON
import LinuxIO
import Testing

/// Every command of `roamward` in the documents is one that this version has: those of `console` blocks are parsed by the program itself,
/// and those within a text have a command and options of its declarations.
@Suite("Commands in documents")
struct DocumentedCommandsTests {
  private static let root = ShownCommandsTests.root

  static let documents: [String] = {
    let names = Folder.names(in: "\(root)/docs").filter { $0.hasSuffix(".md") }.map { "docs/\($0)" }
    let guides = Folder.names(in: "\(root)/docs/how-to").filter { $0.hasSuffix(".md") }.map { "docs/how-to/\($0)" }
    let decisions = Folder.names(in: "\(root)/docs/decisions").filter { $0.hasSuffix(".md") }.map { "docs/decisions/\($0)" }
    let pages = Folder.names(in: "\(root)/docs/man").filter { $0.hasSuffix(".md") }.map { "docs/man/\($0)" }
    return ["README.md", "CONTRIBUTING.md", "policies/README.md"] + names.sorted() + guides.sorted() + pages.sorted() + decisions.sorted()
  }()

  /// The lines of a document's `console` blocks that call `roamward`, of any user, without what asks for it.
  static func shown(in document: String) -> [String] {
    var isConsole = false
    var lines: [String] = []
    for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") { isConsole = line == "```console" }
      guard isConsole, line.hasPrefix("$ ") || line.hasPrefix("# ") else { continue }
      let command = line.dropFirst(2)
      if command.hasPrefix("roamward ") || command.hasPrefix("sudo roamward ") { lines.append(String(command)) }
    }
    return lines
  }

  /// The calls of `roamward` in code spans, as words; a word with a letter that no argument has ends a call.
  static func mentioned(in document: String) -> [[String]] {
    var isBlock = false
    var spans: [Substring] = []
    var text = ""
    for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") { isBlock.toggle() } else if !isBlock { text += line + " " }
    }
    for (place, part) in text.split(separator: "`", omittingEmptySubsequences: false).enumerated() where place % 2 == 1 {
      spans.append(part)
    }
    return spans.compactMap { span in
      var words = span.split(separator: " ").map(String.init)[...]
      if words.first == "sudo" { words = words.dropFirst() }
      guard words.first == "roamward", words.count > 1 else { return nil }
      return Array(words.dropFirst())
    }
  }

  @Test("the program itself takes each command of a block, as a user without rights and without an agent") func parsed() throws {
    let commands = try Self.documents.flatMap { name in Self.shown(in: try ShownCommandsTests.document(name)).map { (name, $0) } }
    #expect(commands.count > 30)
    let outputs = try run(commands.map(\.1) + ["roamward evaluate --nosuch", "roamward frobnicate", "sudo roamward trust a b"])
    func isRefused(_ output: String) -> Bool { output.contains("\nUsage: ") || output.contains("unknown command") }
    for (command, output) in zip(commands, outputs) { #expect(!isRefused(output), "\(command.0): \(command.1):\n\(output)") }
    // The last three commands are wrong, and show that a refusal is recognised.
    #expect(outputs.suffix(3).allSatisfy(isRefused), "\(outputs.suffix(3))")
  }

  @Test("each command within a text, and each of its options, is declared", arguments: documents) func declared(name: String) throws {
    // The text of a decision is a record: commands may have changed since.
    let isRecord = name.hasPrefix("docs/decisions/")
    for words in Self.mentioned(in: try ShownCommandsTests.document(name)) where !isRecord {
      guard let verb = words.first(where: { !$0.hasPrefix("-") }), verb == verb.lowercased(), verb != "…" else { continue }
      let options = try #require(Self.declared[verb], "\(name): `roamward \(words.joined(separator: " "))`: no such command")
      for word in words.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
        let option = String(word.prefix { $0 != "=" && $0 != "," && $0 != "]" })
        #expect(options.contains(option), "\(name): `roamward \(words.joined(separator: " "))`: \(option)")
      }
    }
  }

  @Test("each shipped policy, network and timeline runs as it stands, for a user who has copied them") func shipped() throws {
    let networks = Folder.names(in: "\(Self.root)/examples/networks")
    let timelines = Folder.names(in: "\(Self.root)/examples/timelines")
    let policies = Folder.names(in: "\(Self.root)/policies").filter { $0.hasSuffix(".yaml") }
    #expect(policies.count >= 14 && networks.count >= 8 && !timelines.isEmpty)
    let copies = "cp -R '\(Self.root)/policies' '\(Self.root)/examples' $copy && chmod -R u=rwX,go= $copy"
    let commands =
      policies.map { "roamward check $copy/policies/\($0) && roamward cat --policies $copy/policies/\($0)" }
      + networks.map { "roamward evaluate --policies $copy/examples/first --network $copy/examples/networks/\($0)" }
      + timelines.map { "roamward simulate --policies $copy/examples/first $copy/examples/timelines/\($0)" }
    let script =
      "copy=$(mktemp --directory) && trap 'rm -rf \"$copy\"' EXIT && \(copies)\n"
      + commands.map { "{ \($0); } >$copy/output 2>&1 || { echo '\($0)'; cat $copy/output; }" }.joined(separator: "\n")
    #expect(try run([script + "\necho done"]) == ["done\n"])
  }

  /// The options of each command, as the program declares them.
  private static let declared: [String: Set<String>] = {
    guard let stream = popen("'\(Lab.programs)/roamward' --experimental-dump-help", "re") else { return [:] }
    var bytes: [UInt8] = []
    while case let byte = fgetc(stream), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
    pclose(stream)
    var found: [String: Set<String>] = ["help": []]
    for command in (try? JSON(parsing: bytes))?["command"]?["subcommands"]?.array ?? [] {
      var options: Set<String> = ["--help"]
      for argument in command["arguments"]?.array ?? [] {
        for option in argument["names"]?.array ?? [] { options.insert("--\(option["name"]?.string ?? "")") }
      }
      found[command["commandName"]?.string ?? ""] = options
    }
    return found
  }()

  /// The output of each command, one after the other, in an empty folder.
  private func run(_ commands: [String]) throws -> [String] {
    var template = Array("/tmp/roamward-documented-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemError.last("mkdtemp") }
    let folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    defer { _ = popen("exec rm -rf '\(folder)'", "re").map { pclose($0) } }
    chmod(folder, 0o755)
    // Nothing can be changed by such a user; `sudo` asks no one.
    var script = """
      set -u
      mkdir path && printf '#!/bin/sh\\nexec "$@"\\n' >path/sudo && ln -s '\(Lab.programs)/roamward' path/
      printf '#!/bin/sh\necho 1\n' >path/pgrep && chmod 755 path path/sudo path/pgrep
      export PATH="$PWD/path:$PATH" NO_COLOR=1 ROAMWARD_SOCKET=$PWD/no-agent
      user=()
      [[ $EUID != 0 ]] || user=(setpriv --reuid 65534 --regid 65534 --clear-groups)

      """
    for (i, command) in commands.enumerated() {
      try TextFile.replace("\(folder)/command-\(i)", with: Array("\(command)\n".utf8), mode: 0o644)
      script += "timeout 1800 \"${user[@]}\" bash command-\(i) >output-\(i) 2>&1 </dev/null\n"
    }
    try TextFile.replace("\(folder)/script", with: Array(script.utf8), mode: 0o644)
    guard let stream = popen("cd '\(folder)' && exec timeout 1800 bash script", "re") else { throw SystemError.last("popen") }
    pclose(stream)
    return try commands.indices.map { String(decoding: try TextFile.read("\(folder)/output-\($0)"), as: UTF8.self) }
  }
}
