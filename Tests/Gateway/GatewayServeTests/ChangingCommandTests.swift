import JSON
import LinuxIO
import TestSupport
import Testing

/// The file that is shipped for a gateway of one's own.
@Suite struct ExampleFileTests {
  @Test("the example is good, and its tests of access hold") func check() throws {
    let folder = try TemporaryFolder()
    try shell(
      "cp '\(GatewayScene.root)/examples/gateway/gateway.yaml' '\(folder.path)/' && '\(GatewayScene.programs)/roamward-gateway' check"
        + " --files '\(folder.path)/gateway.yaml' --state '\(folder.path)/state' >'\(folder.path)/out'")
    let text = String(decoding: try TextFile.read("\(folder.path)/out"), as: UTF8.self)
    #expect(text == "\(folder.path)/gateway.yaml  ok\n4 tests of access passed\n")
  }
}

/// Each command of the gateway that changes something shows it, and can be tried without effect.
@Suite struct ChangingCommandTests {
  /// Those that show something, or run it; `backup` makes a file that was not there. The list may only shrink.
  private static let others: Set = [
    "serve", "backup", "store show", "user show", "group list", "device show", "access list",
    "check", "diff", "export", "plan", "login show", "status", "monitor", "metrics", "evaluate", "explain", "doctor", "audit",
  ]

  @Test("each command that changes something has a dry run") func dryRuns() throws {
    let folder = try TemporaryFolder()
    try shell("'\(GatewayScene.programs)/roamward-gateway' --experimental-dump-help >'\(folder.path)/help'")
    var without: Set<String> = []
    func gather(_ command: JSON, _ path: [String]) {
      let commands = command["subcommands"]?.array ?? []
      let names = (command["arguments"]?.array ?? []).flatMap { $0["names"]?.array ?? [] }
      if commands.isEmpty, !names.contains(where: { $0["name"] == "dry-run" }) { without.insert(path.joined(separator: " ")) }
      for other in commands { gather(other, path + [other["commandName"]?.string ?? ""]) }
    }
    gather(try JSON(parsing: try TextFile.read("\(folder.path)/help", limit: 10_000_000))["command"] ?? .null, [])
    #expect(without.subtracting(["help"]) == Self.others)
  }

  @Test("there are at most 45 commands") func few() throws {
    let folder = try TemporaryFolder()
    try shell("'\(GatewayScene.programs)/roamward-gateway' --experimental-dump-help >'\(folder.path)/help'")
    func count(_ command: JSON) -> Int {
      let commands = (command["subcommands"]?.array ?? []).filter { $0["commandName"]?.string != "help" }
      return commands.isEmpty ? 1 : commands.map(count).reduce(0, +)
    }
    #expect(count(try JSON(parsing: try TextFile.read("\(folder.path)/help", limit: 10_000_000))["command"] ?? .null) <= 45)
  }
}
