import LinuxIO
import Testing

/// Each process that reads data of strangers has a user of its own, which the packages make: those of the agent, and those of the gateway.
@Suite struct UserTests {
  private static func made(by file: String) throws -> Set<String> {
    let text = String(decoding: try TextFile.read("\(PureRingsTests.root)/packaging/sysusers.d/\(file)"), as: UTF8.self)
    return Set(
      text.split(separator: "\n").filter { $0.hasPrefix("u ") }.compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) })
  }

  /// The area of a worker, and its user.
  private static func workers(in files: [(name: String, text: String)]) -> [(area: String, user: String)] {
    files.flatMap { file in
      file.text.split(separator: "ConfinedWorker(", omittingEmptySubsequences: false).dropFirst().compactMap { part in
        let start = part.drop { $0.isWhitespace }
        guard start.hasPrefix("user: \"") else { return nil }
        let area = file.name.split(separator: "/").dropFirst().first.map(String.init) ?? ""
        return (area, String(start.dropFirst(7).prefix { $0 != "\"" }))
      }
    }
  }

  @Test("each worker has one, and its package makes it") func own() throws {
    let workers = Self.workers(in: allSources())
    #expect(workers.count == 7 && Set(workers.map(\.user)).count == 7)
    let (agents, gateways) = (try Self.made(by: "roamward.conf"), try Self.made(by: "roamward-gateway.conf"))
    for worker in workers { #expect((worker.area == "Gateway" ? gateways : agents).contains(worker.user), "\(worker)") }
    #expect(agents.isDisjoint(with: gateways))
    // The engine and providers start in ways of their own.
    #expect(agents.union(gateways).subtracting(workers.map(\.user)) == ["roamward-wireguard", "roamward-provider"])
  }

  @Test("the doctor knows those of the agent, and the page on removal names all") func named() throws {
    let text = { (path: String) in String(decoding: try TextFile.read("\(PureRingsTests.root)/\(path)"), as: UTF8.self) }
    let doctor = try text("Sources/Agent/Pure/Doctor/HostCondition.swift")
    for user in try Self.made(by: "roamward.conf") where user != "roamward-provider" { #expect(doctor.contains("\"\(user)\""), "\(user)") }
    let page = try text("docs/how-to/uninstall.md")
    for user in try Self.made(by: "roamward.conf").union(Self.made(by: "roamward-gateway.conf")) {
      #expect(page.contains("`\(user)`"), "\(user)")
    }
  }

  @Test("the check sees a worker's user") func detector() {
    let found = Self.workers(in: [
      ("Sources/Names/Rim/A.swift", "let a = ConfinedWorker(\n    user: \"x\", b: 1)"), ("Sources/B/C.swift", "ConfinedWorker {"),
    ])
    #expect(found.map(\.user) == ["x"] && found.map(\.area) == ["Names"])
  }
}
