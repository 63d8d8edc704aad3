import AgentDaemon
import ControlProtocol
import LinuxIO
import SystemdIO
import Testing

/// The documents and the files for D-Bus and polkit say the same as the code.
@Suite struct BusDocumentTests {
  private func text(_ path: String) throws -> String {
    let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
    return String(decoding: try TextFile.read("\(root)/\(path)"), as: UTF8.self)
  }

  /// The rows of a chapter's tables whose head has this first cell: the cells of each, without backticks.
  private func rows(_ chapter: String, _ kind: String, in document: String) throws -> [[String]] {
    let text = try #require(document.split(separator: "\n## ").first { $0.hasPrefix(chapter + "\n") })
    var isTable = false
    var rows: [[String]] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      guard line.hasPrefix("| ") else {
        if !line.hasPrefix("|-") { isTable = false }
        continue
      }
      let cells = line.split(separator: "|").map { cell in String(cell.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
      if cells[0] == kind { isTable = true } else if isTable { rows.append(cells.map { $0.filter { $0 != "`" } }) }
    }
    return rows
  }

  private func words(_ values: [BusInterface.Value]) -> String { values.map { "\($0.name) \($0.type)" }.joined(separator: ", ") }

  @Test("docs/dbus.md has every property, method and signal, with their types", arguments: [AgentInterface.agent, AgentInterface.tunnel])
  func members(interface: BusInterface) throws {
    let document = try text("docs/dbus.md")
    let properties = try rows(interface.name, "property", in: document)
    #expect(properties.map { [$0[0], $0[1]] } == interface.properties.map { [$0.name, $0.type] })
    let methods = try rows(interface.name, "method", in: document)
    #expect(methods.map { [$0[0], $0[1]] } == interface.methods.map { [$0.name, words($0.arguments)] })
    let signals = try rows(interface.name, "signal", in: document)
    #expect(signals.map { [$0[0], $0[1]] } == interface.signals.map { [$0.name, words($0.arguments)] })
    #expect(properties.count > 5 && !signals.isEmpty)
  }

  @Test("the rights in docs/dbus.md are those of the requests") func rights() throws {
    let document = try text("docs/dbus.md")
    for (interface, tunnel) in [(AgentInterface.agent, nil), (AgentInterface.tunnel, "corp")] {
      for row in try rows(interface.name, "method", in: document) {
        let method = try #require(interface.methods.first { $0.name == row[0] })
        let values: [BusValue] = method.arguments.map { argument in
          switch argument.type {
          case "s": .text(argument.name == "until" ? "network" : "")
          case "t", "u": .unsigned(0)
          default: .list([.list([.text("corp.yaml"), .text("")])])
          }
        }
        let right = try requestOnBus(method.name, values, tunnel: tunnel).right { _, _ in false }
        #expect(row[2].split(separator: " ").first.map(String.init) == right.rawValue, "\(method.name)")
      }
    }
  }

  @Test("polkit's policy file has each action of a right, and the bus's policy file the agent's name") func files() throws {
    let policy = try text("packaging/polkit/net.roamward.policy")
    let actions = policy.split(separator: "<action id=\"").dropFirst().map { String($0.prefix { $0 != "\"" }) }
    #expect(actions == Right.allCases.compactMap(\.polkitAction))
    let security = try text("docs/security-processes.md")
    for action in actions { #expect(security.contains("`\(action)`")) }
    #expect(try text("packaging/dbus/net.roamward.Agent1.conf").contains("<allow own=\"\(AgentInterface.service)\"/>"))
    #expect(try text("packaging/sysusers.d/roamward.conf").contains("\ng \(Caller.groupName) -"))
  }
}
