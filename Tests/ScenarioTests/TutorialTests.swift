import Glibc
import LinuxIO
import Testing

@Suite("The tutorial")
struct TutorialTests {
  @Test("its day needs the packages alone, and what is printed is what it shows") func day() throws {
    let day = try Part("A day in virtual time")
    #expect(day.commands.count > 5)
    let (output, status) = try Typed.run(
      day.commands.map {
        $0.replacing("/usr/share/doc/roamward/", with: "$folder/share/") + ($0.hasPrefix("roamward check") ? " || true" : "")
      }
      .joined(separator: "\n"))
    #expect(status == 0, "\(output)")
    day.expect(in: output)
  }

  @Test("its laptop needs the packages alone, and what is printed is what it shows", .needsLab) func laptop() throws {
    let parts = try ["A laptop in a small internet", "The agent", "A mistake", "By hand"].map(Part.init)
    let typed = parts.flatMap(\.commands).filter { !$0.hasPrefix("sudo ") && !$0.hasPrefix("walk/lab run ") && $0 != "exit" }
    #expect(typed.count > 12)
    let (output, status) = try Typed.run(
      """
      cp -r "$folder/share/examples/walk" "$folder/walk"
      chmod -R a+rX "$folder"
      cat > "$folder/typed" <<'TYPED'
      set -em
      \(typed.map(Typed.patient).joined(separator: "\n"))
      TYPED
      person=()
      if ((EUID == 0)) && setpriv --reuid 65534 --regid 65534 --clear-groups unshare --user --map-root-user true; then
        person=(setpriv --reuid 65534 --regid 65534 --clear-groups)
      fi
      PATH=${PATH//:\\/usr\\/sbin/} "${person[@]}" walk/lab run bash "$folder/typed"
      """)
    #expect(status == 0, "\(output)")
    for part in parts { part.expect(in: output) }
  }
}

/// The commands and the output in a section of the tutorial.
private struct Part {
  /// The typed commands, each with the file that follows it.
  let commands: [String]
  private let shown: [String]

  init(_ section: String) throws {
    let text = String(decoding: try TextFile.read("\(Lab.root)/docs/tutorial.md"), as: UTF8.self)
    let from = try #require(text.firstRange(of: "\n## \(section)\n")).upperBound
    let part = text[from...]
    let blocks = part[..<(part.firstRange(of: "\n## ")?.lowerBound ?? part.endIndex)].split(
      separator: "```", omittingEmptySubsequences: false)
    var commands: [String] = []
    var shown: [String] = []
    for (number, block) in blocks.enumerated() where number % 2 == 1 {
      let lines = block.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().map(String.init)
      guard block.hasPrefix("console\n") else {
        commands[commands.count - 1] += " <<'END'\n\(lines.joined(separator: "\n"))END"
        continue
      }
      for line in lines where !line.isEmpty && line != "…" {
        let isTyped = line.hasPrefix("$ ") || line.hasPrefix("# ")
        if isTyped { commands.append(String(line.dropFirst(2))) } else { shown.append(line) }
      }
    }
    (self.commands, self.shown) = (commands, shown)
  }

  func expect(in output: String) {
    let printed = Set(output.split(separator: "\n").map { Self.timeless(String($0)) })
    for line in shown { #expect(printed.contains(Self.timeless(line)), "\(line)\n\(output)") }
  }

  /// Without times, and the address that a link gives itself when it is up.
  private static func timeless(_ line: String) -> String {
    line.replacing(#/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/#, with: "DATE").replacing(#/\(just now\)|\(\d+ s\)/#, with: "(AGE)")
      .replacing(#/for \d+ s|just now/#, with: "AGE").replacing(#/, fe80[0-9a-f:]*/#, with: "")
  }
}

/// Types commands in a shell whose documents are those that the packages have, by their list.
private enum Typed {
  static func run(_ commands: String) throws -> (output: String, status: Int32) {
    let script =
      """
      set -eo pipefail
      folder=$(mktemp --directory); trap 'rm -rf "$folder"' EXIT
      root='\(Lab.root)' PATH='\(Lab.programs)':$PATH
      while read -r kind from to; do
        [[ $kind == file || $kind == script ]] && [[ $to == doc/* ]] || continue
        mkdir -p "$folder/share/${to#doc/}"
        for file in $root/$from; do cp "$file" "$folder/share/${to#doc/}"; done
      done <"$root/packaging/content"
      cd $folder

      """ + commands
    let file = "/tmp/roamward-tutorial-\(getpid())-\(commands.count)"
    try TextFile.replace(file, with: Array(script.utf8), mode: 0o600)
    defer { unlink(file) }
    let stream = try #require(popen("exec bash \(file) 2>&1", "re"))
    var bytes: [UInt8] = []
    while case let byte = fgetc(stream), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
    return (String(decoding: bytes, as: UTF8.self), pclose(stream))
  }

  /// A command, and what a person who types it has seen before the next one.
  static func patient(_ command: String) -> String {
    if command.hasSuffix("&") { return command + "\nuntil roamward status >/dev/null 2>&1; do sleep 0.1; done" }
    if command.hasPrefix("sed -i 's/action: connect$/") {
      return command + "\nuntil roamward status | grep -q '^policy: 1 error'; do sleep 0.1; done"
    }
    if command.hasPrefix("sed -i ") { return command + "\nwhile roamward status | grep -q '^policy: 1 error'; do sleep 0.1; done" }
    return command.hasPrefix("kill ") ? command + "\nwait" : command
  }
}
