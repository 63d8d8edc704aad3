import Glibc
import LinuxIO
import Testing

/// A command that a document shows, and the output below it.
struct ShownCommand: CustomStringConvertible {
  let text: String
  /// `…` alone on a line stands for any lines.
  var output: [String] = []

  var description: String { text }

  /// Those of a document's `console` blocks, in their order.
  static func all(in document: String) -> [ShownCommand] {
    var commands: [ShownCommand] = []
    var isConsole = false
    for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        isConsole = line == "```console"
      } else if isConsole, line.hasPrefix("$ ") {
        commands.append(ShownCommand(text: String(line.dropFirst(2))))
      } else if isConsole, !line.isEmpty, !commands.isEmpty {
        commands[commands.count - 1].output.append(String(line))
      }
    }
    return commands
  }

  /// Whether what was written is what is shown; runs of blanks count as one.
  func isShown(in written: String) -> Bool {
    func words(_ line: some StringProtocol) -> String { line.split(separator: " ").joined(separator: " ") }
    var rest = written.split(separator: "\n").map(words)[...]
    var mayPass = false
    for line in output.map(words) {
      if line == "…" {
        mayPass = true
        continue
      }
      guard let place = mayPass ? rest.firstIndex(of: line) : rest.startIndex, place < rest.endIndex, rest[place] == line else {
        return false
      }
      rest = rest[rest.index(after: place)...]
      mayPass = false
    }
    return mayPass || rest.isEmpty || output.isEmpty
  }
}

@Suite("What documents show", .serialized)
struct ShownCommandsTests {
  static let root = Lab.root

  static func document(_ name: String) throws -> String { String(decoding: try TextFile.read("\(root)/\(name)"), as: UTF8.self) }

  /// Commands that change this machine, or take an hour: not run here, but their targets and files are there.
  static let notRun = ["make ", "sudo "]
  /// Commands that ask an agent, or are about one: run in the lab.
  static let ofAgent = ["status", "doctor", "monitor", "down", "resume", "apply", "diff", "state"].map { "roamward \($0)" }

  static func isOfAgent(_ command: ShownCommand) -> Bool {
    ofAgent.contains { command.text == $0 || command.text.hasPrefix("\($0) ") }
  }

  @Test("the policy in the tour is the file beside it") func policy() throws {
    let text = try Self.document("docs/tour.md")
    #expect(text.contains("```yaml\n\(try Self.document("examples/first/10-corp.yaml"))```"))
  }

  @Test("the README has at most 120 lines, and begins with how to see it run") func frontPage() throws {
    let lines = try Self.document("README.md").split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 121)
    for command in ["$ make demo ", "$ make test "] { #expect(lines.prefix(20).contains { $0.hasPrefix(command) }, "\(command)") }
    #expect(lines.prefix(20).contains { $0.contains("](docs/images/status.svg)") })
  }

  @Test("the targets that are shown are there") func targets() throws {
    let makefile = try Self.document("Makefile")
    for command in ShownCommand.all(in: try Self.document("README.md")) where command.text.contains("make ") {
      let words = command.text.split(separator: " ")
      for (word, next) in zip(words, words.dropFirst()) where word == "make" { #expect(makefile.contains("\n\(next):"), "make \(next)") }
    }
  }

  /// The documents, with the number of commands at least that are run.
  static let documents = [("docs/tour.md", 11), ("policies/README.md", 2), ("docs/policy-reference.md", 3), ("docs/import-export.md", 1)]

  @Test("each command runs as written, in a fresh copy, and says what is shown", arguments: documents)
  func runs(name: String, atLeast: Int) throws {
    let commands = ShownCommand.all(in: try Self.document(name)).filter { command in
      !Self.notRun.contains { command.text.hasPrefix($0) } && !Self.isOfAgent(command)
    }
    #expect(commands.count >= atLeast)
    var template = Array("/tmp/roamward-shown-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemError.last("mkdtemp") }
    let folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    defer { _ = popen("exec rm -rf '\(folder)'", "re").map { pclose($0) } }
    // As somebody has them who has cloned the repository; one command after the other, in one shell.
    var script = """
      set -u
      mkdir bin copy
      ln -s '\(Lab.programs)/roamward' bin/
      export PATH="$PWD/bin:$PATH" NO_COLOR=1 scratch=$PWD
      cp -r '\(Self.root)/policies' '\(Self.root)/examples' copy/
      chmod -R u=rwX,go=rX copy
      cp '\(Self.root)/Tests/CommandLine/PolicyImportTests/Fixtures/trusted-office.mobileconfig' copy/office.mobileconfig
      cp copy/examples/first/corp.conf copy/work.conf
      cd copy

      """
    for (i, command) in commands.enumerated() {
      script += "{ \(command.text)\n} >\"$scratch/output-\(i)\" 2>&1 </dev/null\necho $? >\"$scratch/status-\(i)\"\n"
    }
    try TextFile.replace("\(folder)/script", with: Array(script.utf8), mode: 0o600)
    guard let stream = popen("cd '\(folder)' && exec timeout 1800 bash script", "re") else { throw SystemError.last("popen") }
    #expect(pclose(stream) >> 8 & 0xff == 0)
    for (i, command) in commands.enumerated() {
      let output = String(decoding: try TextFile.read("\(folder)/output-\(i)"), as: UTF8.self)
      let status = String(decoding: try TextFile.read("\(folder)/status-\(i)"), as: UTF8.self)
      #expect(status == "0\n", "\(command): \(output)")
      let here = output.split(separator: "\(folder)/copy").joined(separator: "/home/me/roamward")
      #expect(command.isShown(in: here), "\(command):\n\(output)")
    }
  }

  @Test("and so does each that asks an agent, in the café, with the policy of the tour; full disks are told", .needsLab)
  func asksAgent() throws {
    let scene = try Scene([
      "10-corp.yaml": try Self.document("examples/first/10-corp.yaml"),
      "trusted-ssids.txt": try Self.document("examples/first/trusted-ssids.txt"),
    ])
    let documents = try ["README.md", "docs/tour.md"].map(Self.document)
    let commands = documents.flatMap { ShownCommand.all(in: $0) }.filter(Self.isOfAgent)
    #expect(commands.count >= 9)
    for (i, command) in commands.enumerated() { try scene.write("command-\(i)", command.text) }
    let lines = commands.enumerated().map { i, command in
      // `monitor` alone goes on; the others end by themselves.
      let limit = command.text.contains("monitor") ? 5 : 60
      return "status=0; timeout \(limit) bash command-\(i) >out 2>&1 </dev/null || status=$?; say \"$status $(head -n 1 out)\"\n"
    }
    let seen = try scene.run(
      """
      mkdir path new && ln -s "$bin/roamward" path/ && export PATH="$PWD/path:$PATH"
      cp "$policies"/* new/
      go cafe
      start_agent
      tunnel_is corp connected
      \(lines.joined())
      for command in status 'status --json' doctor 'network --json' monitor; do
        status=0; timeout 1800 roamward $command >/dev/full 2>said & writing=$!
        # `monitor` writes when something happens, once it listens.
        while kill -0 $writing 2>/dev/null; do roamward down corp >/dev/null; roamward resume corp >/dev/null; done
        wait $writing || status=$?
        say "$command $status $(tail -n 1 said)"
      done
      stop_agent
      """
    ).lines
    for (command, line) in zip(commands, seen) {
      // `monitor` goes on until it is ended; `doctor` and `diff` end with 1 where something is to be said.
      let allowed = command.text.contains("monitor") ? ["[124"] : ["[0", "[1"]
      #expect(allowed.contains { line.hasPrefix($0) } && !line.contains("rror"), "\(command): \(line)")
      if command.text.hasPrefix("roamward status") { #expect(line.contains("corp is connected since"), "\(line)") }
    }
    for command in ["status", "status --json", "doctor", "network --json", "monitor"] {
      #expect(seen.contains("[\(command) 1 roamward: standard output: No space left on device]"), "\(seen.suffix(6))")
    }
  }
}

/// Output is written, or the status says that it was not.
@Suite("Output that cannot be written") struct OutputTests {
  /// Of every command that runs without an agent.
  static let commands = [
    "evaluate --policies $first --set interface=wifi", "explain corp --policies $first --set interface=wifi",
    "simulate --policies $first $root/examples/timelines/a-day-out.yaml", "plan --policies $first --up corp", "dns example.com",
    "network", "check $first", "doctor --policies $first", "state", "import --dry-run $first/corp.conf",
    "export full --policies $root/policies/35-full-tunnel-with-lan.yaml --mobileconfig", "--help", "--version", "help evaluate",
    "evaluate --help",
    "--generate-completion-script bash",
  ]

  private func run(_ script: String) throws -> (status: Int32, output: String) {
    let names =
      "root='\(ShownCommandsTests.root)' first='\(ShownCommandsTests.root)/examples/first'\nroamward() { '\(Lab.programs)/roamward' \"$@\"; }\n"
    var template = Array("/tmp/roamward-output-XXXXXX".utf8CString)
    let file = mkstemp(&template)
    guard file >= 0 else { throw SystemError.last("mkstemp") }
    close(file)
    let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    defer { unlink(path) }
    try TextFile.replace(path, with: Array((names + script).utf8), mode: 0o600)
    guard let stream = popen("exec timeout 1800 bash '\(path)' 2>&1 </dev/null", "re") else { throw SystemError.last("popen") }
    var said: [UInt8] = []
    while case let byte = fgetc(stream), byte != EOF { said.append(UInt8(truncatingIfNeeded: byte)) }
    return (pclose(stream) >> 8 & 0xff, String(decoding: said, as: UTF8.self))
  }

  @Test("ends with status 1, and a reader that has gone quietly", arguments: commands) func full(command: String) throws {
    let full = try run("roamward \(command) >/dev/full")
    #expect(full.status == 1 && full.output.contains("roamward: standard output: No space left on device"), "\(command): \(full)")
    // As a service has it, which is told of EPIPE in the place of dying by the signal.
    let gone = try run("set -o pipefail\ntrap '' PIPE\n{ sleep 0.3; roamward \(command) 2>/dev/null; } | :")
    #expect(gone.status == 0 && gone.output == "", "\(command): \(gone)")
  }

  @Test(
    "a mistyped command names the nearest one",
    arguments: [
      ("evalute", "evaluate"), ("stauts", "status"), ("plam", "plan"), ("connect", "up"), ("disconnect", "down"), ("ls", "list"),
      ("logs", "monitor"), ("version", "--version"), ("chekc x.yaml", "check"), ("frobnicate", nil),
    ] as [(String, String?)])
  func mistyped(word: String, meant: String?) throws {
    let seen = try run("roamward \(word)")
    let name = word.split(separator: " ")[0]
    #expect(seen.status == 2 && seen.output.hasPrefix("roamward: unknown command \"\(name)\""), "\(seen)")
    #expect(seen.output.contains("did you mean `roamward \(meant ?? "")`?") == (meant != nil) && !seen.output.contains("Usage"), "\(seen)")
  }

  @Test(
    "--policies that are not there are an error with place and cure",
    arguments: [
      "evaluate", "explain corp", "simulate $root/examples/timelines/a-day-out.yaml", "plan", "dns a.example", "doctor",
      "export corp --mobileconfig", "diff",
    ])
  func noPolicies(command: String) throws {
    let seen = try run("roamward \(command) --policies nosuch --policies $first")
    #expect(seen.status == 2, "\(command): \(seen)")
    #expect(seen.output.contains("--policies nosuch: No such file or directory; name a folder of policies"), "\(command): \(seen)")
  }
}
