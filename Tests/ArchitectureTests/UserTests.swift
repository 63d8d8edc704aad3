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

  /// The words that follow these in sources.
  private static func names(after words: String, until end: Character) -> [String] {
    allSources().flatMap { file in
      file.text.split(separator: words, omittingEmptySubsequences: false).dropFirst().map { String($0.prefix { $0 != end }) }
    }
  }

  @Test("each worker has one, and its package makes it") func own() throws {
    let workers = Self.workers(in: allSources())
    #expect(workers.count >= 7 && Set(workers.map(\.user)).count == workers.count)
    let (agents, gateways) = (try Self.made(by: "roamward.conf"), try Self.made(by: "roamward-gateway.conf"))
    for worker in workers { #expect((worker.area == "Gateway" ? gateways : agents).contains(worker.user), "\(worker)") }
    #expect(agents.isDisjoint(with: gateways))
    // The engine and providers start in ways of their own.
    #expect(agents.union(gateways).subtracting(workers.map(\.user)) == ["roamward-wireguard", "roamward-provider"])
  }

  @Test("the doctor knows those of the agent, and the page on removal names all") func named() throws {
    let text = { (path: String) in String(decoding: try TextFile.read("\(PureRingsTests.root)/\(path)"), as: UTF8.self) }
    let doctor = try text("Sources/Agent/Pure/Doctor/HostCondition.swift")
    // A unit alone has the user of the proxy, and systemd says so where it is missing.
    let others = ["roamward-provider", "roamward-socks"]
    for user in try Self.made(by: "roamward.conf") where !others.contains(user) { #expect(doctor.contains("\"\(user)\""), "\(user)") }
    let page = try text("docs/how-to/uninstall.md")
    for user in try Self.made(by: "roamward.conf").union(Self.made(by: "roamward-gateway.conf")) {
      #expect(page.contains("`\(user)`"), "\(user)")
    }
  }

  @Test("each worker's program is built, installed, in a package, and in a document on security") func programs() throws {
    let text = { (path: String) in String(decoding: try TextFile.read("\(PureRingsTests.root)/\(path)"), as: UTF8.self) }
    let all = { (folder: String, start: String) in
      try Folder.names(in: "\(PureRingsTests.root)/\(folder)").filter { $0.hasPrefix(start) || $0.hasSuffix(start) }
        .map { try text("\(folder)/\($0)") }.joined()
    }
    let programs = Self.names(after: "ConfinedProgram.run(\"", until: "\"")
    #expect(programs.count == Self.workers(in: allSources()).count)
    let built = try text("Makefile").split { $0.isWhitespace || $0 == "\\" }.map(String.init)
    for program in programs {
      #expect(built.contains(program), "Makefile has no \(program) among its programs")
      #expect(try text("packaging/content").contains("program @\(program) "), "packaging/content has no \(program)")
      #expect(try text("packaging/roamward.spec").contains("/\(program)\n"), "packaging/roamward.spec has no \(program)")
      #expect(try all("packaging/debian", ".install").contains("/\(program)\n"), "no Debian package has \(program)")
      #expect(try all("docs", "security").contains("`\(program)`"), "no document on security describes \(program)")
    }
  }

  @Test("the system calls of each worker are tried in a test") func filters() throws {
    let filters = Self.names(after: "filter: ", until: ".").filter { $0.hasSuffix("Filter") }
    #expect(Set(filters).count >= 7)
    let tests = swiftFiles(in: "\(PureRingsTests.root)/Tests").compactMap { path in
      (try? TextFile.read(path)).map { String(decoding: $0, as: UTF8.self) }
    }
    for filter in filters { #expect(tests.contains { $0.contains("\(filter).rules(") }, "no test tries \(filter)") }
  }

  @Test("the check sees a worker's user") func detector() {
    let found = Self.workers(in: [
      ("Sources/Names/Rim/A.swift", "let a = ConfinedWorker(\n    user: \"x\", b: 1)"), ("Sources/B/C.swift", "ConfinedWorker {"),
    ])
    #expect(found.map(\.user) == ["x"] && found.map(\.area) == ["Names"])
  }
}
