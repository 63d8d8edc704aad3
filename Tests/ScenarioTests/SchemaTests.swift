import Glibc
import JSON
import LinuxIO
import SchemaCheck
import Testing

/// The output for programs follows the schemas in docs/schema, also under load.
@Suite("The published schemas", .needsLab)
struct SchemaTests {
  private static let root = Lab.root

  /// The commands with `--json`, as the program declares them; of the gateway, the changing ones by their common option.
  private static func commandsWithJSON(of program: String = "roamward") throws -> Set<String> {
    guard let stream = popen("'\(Lab.programs)/\(program)' --experimental-dump-help", "re") else { return [] }
    var bytes: [UInt8] = []
    while case let byte = fgetc(stream), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
    pclose(stream)
    var found: Set<String> = []
    func gather(_ command: JSON, _ path: [String]) {
      let names = (command["arguments"]?.array ?? []).flatMap { $0["names"]?.array ?? [] }
      let isChange = program == "roamward-gateway" && names.contains { $0["name"] == "dry-run" }
      if names.contains(where: { $0["name"] == "json" }) { found.insert(isChange ? "COMMAND --dry-run" : path.joined(separator: " ")) }
      for other in command["subcommands"]?.array ?? [] { gather(other, path + [other["commandName"]?.string ?? ""]) }
    }
    gather(try JSON(parsing: bytes)["command"] ?? .null, [])
    return found
  }

  /// The schema whose title names the command.
  private static func schema(of command: String, in program: String = "roamward") throws -> JSON? {
    let folder = "\(root)/docs/schema"
    return try Folder.names(in: folder).map { try JSON(parsing: try TextFile.read("\(folder)/\($0)")) }
      .first { $0["title"]?.string?.contains("`\(program) \(command) --json`") ?? false }
  }

  @Test("every command with --json has a schema", arguments: ["roamward", "roamward-gateway"]) func commands(of program: String) throws {
    let commands = try Self.commandsWithJSON(of: program)
    #expect(commands.count >= 4)
    for command in commands.sorted() { #expect(try Self.schema(of: command, in: program) != nil, "\(command)") }
  }

  @Test("what each command with --json prints is as its schema says") func output() throws {
    let scene = try Scene()
    try scene.play("Schema/output", with: ["ROOT": Self.root])
    let files = Folder.names(in: "\(scene.folder)/out").sorted()
    let commands = Set(files.map { String($0.prefix { $0 != "-" }) })
    #expect(commands == (try Self.commandsWithJSON()), "a command prints nothing here")
    for command in commands.sorted() {
      let schema = try #require(try Self.schema(of: command), "\(command)")
      for file in files where file.hasPrefix("\(command)-") {
        let text = scene.read("out/\(file)")
        let isOfLines = schema["title"]?.string?.hasPrefix("A line") ?? false
        #expect(!text.isEmpty && (!isOfLines || text.lines.count > 5), "\(file)")
        for document in isOfLines ? text.lines : [text] {
          #expect(SchemaCheck.violations(of: schema, in: try JSON(parsing: document.utf8)) == [], "\(file): \(document)")
        }
      }
    }
    let tunnel = try JSON(parsing: scene.read("out/status-3").utf8)["tunnels"]?.array?.first
    #expect(
      tunnel?["override"] == "down" && tunnel?["override-lifetime"] == "time" && tunnel?["override-reason"] == "printer"
        && tunnel?["code"] == "manual-override"
    )
    let differences = try JSON(parsing: scene.read("out/diff-2").utf8)["differences"]?.array
    #expect(differences?.isEmpty == false)
  }

  @Test("times are precise to the millisecond, and the clock's")
  func times() throws {
    let scene = try Scene()
    let seen = try scene.play("Schema/times")
    #expect(seen.lines.filter { $0.hasPrefix("[") } == [])
    #expect(Set(scene.read("fractions").lines).count > 2, "no clock shows the same milliseconds twenty times")
  }
}
