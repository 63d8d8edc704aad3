import JSON
import LinuxIO
import TestSupport
import Testing

/// A person without root is told so by each command of the gateway, and not that something is missing.
@Suite struct OrdinaryPersonTests {
  /// They need no gateway, or say themselves what they cannot read.
  private static let others: Set = ["check", "help"]

  /// The example in the help of each command.
  private func examples(_ folder: TemporaryFolder) throws -> [(command: String, example: String)] {
    try shell("'\(GatewayScene.programs)/roamward-gateway' --experimental-dump-help >'\(folder.path)/help'")
    var found: [(command: String, example: String)] = []
    func gather(_ command: JSON, _ path: [String]) {
      let commands = command["subcommands"]?.array ?? []
      let text = "\(command["abstract"]?.string ?? "") \(command["discussion"]?.string ?? "")"
      if commands.isEmpty, let example = text.split(separator: "Example: `roamward-gateway ").dropFirst().first?.split(separator: "`").first
      {
        found.append((path.joined(separator: " "), String(example)))
      }
      for other in commands { gather(other, path + [other["commandName"]?.string ?? ""]) }
    }
    gather(try JSON(parsing: try TextFile.read("\(folder.path)/help", limit: 10_000_000))["command"] ?? .null, [])
    return found
  }

  @Test("each command says that root alone may read the gateway", .needs("setpriv", "timeout")) func messages() throws {
    let folder = try TemporaryFolder()
    let examples = try examples(folder).filter { !Self.others.contains($0.command) }
    #expect(examples.count > 40)
    let person = "timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups '\(GatewayScene.programs)/roamward-gateway'"
    var lines = ["mkdir -m 700 '\(folder.path)/state'", "chmod 755 '\(folder.path)'", "cd /"]
    for (i, one) in examples.enumerated() {
      lines.append("{ \(person) \(one.example) --state '\(folder.path)/state' 2>&1 </dev/null || true; } >'\(folder.path)/out-\(i)'")
    }
    try shell(lines.joined(separator: "\n"))
    for (i, one) in examples.enumerated() {
      let text = String(decoding: try TextFile.read("\(folder.path)/out-\(i)"), as: UTF8.self)
      #expect(
        text == "roamward-gateway: root alone may read the gateway in \(folder.path)/state\n  help: run the command as root\n",
        "\(one.command): \(one.example)")
    }
  }
}
