import GatewayCore
import PolicySource
import SeededRandom
import Testing

@testable import GatewaySource

/// Changes of single values, in the text of a file.
@Suite struct SettingEditTests {
  private func edited(_ text: String, _ key: String, _ act: SettingEdit.Act, replaces: Bool = false) throws -> String {
    var file = EditedFile(path: "gateway.yaml", text: text)
    try file.apply(SettingEdit(try SettingPath(key), act, replaces: replaces))
    return file.text
  }

  private static let text = """
    # Our gateway.
    version: 1

    gateway: { endpoint: vpn.example.com }   # where clients reach it
    settings:
      # Of all.
      everybody:
        routes:
          - 10.20.0.0/16   # the servers
          - 10.30.0.0/16
        dns: 10.20.0.53
      groups:
        staff: { mtu: 1380 }

    page:
      administrators: admins   # the two of us

    """

  @Test("one line changes, and the comments stay") func lines() throws {
    func differs(_ key: String, _ act: SettingEdit.Act, _ old: String, _ new: String, _ place: Testing.SourceLocation = #_sourceLocation)
      throws
    {
      let expected = Self.text.split(separator: old, maxSplits: 1, omittingEmptySubsequences: false).joined(separator: new)
      #expect(try edited(Self.text, key, act) == expected, sourceLocation: place)
    }
    try differs(
      "gateway.endpoint", .set(["vpn.example.org"]), "{ endpoint: vpn.example.com }   #", "{ endpoint: vpn.example.org }  #")
    try differs(
      "settings.everybody.routes", .change(adding: ["10.40.0.0/16"], removing: []), "10.30.0.0/16\n", "10.30.0.0/16\n      - 10.40.0.0/16\n"
    )
    try differs("settings.everybody.routes", .change(adding: [], removing: ["10.30.0.0/16"]), "      - 10.30.0.0/16\n", "")
    try differs("settings.everybody.dns", .change(adding: ["10.20.0.54"], removing: []), "dns: 10.20.0.53", "dns: [10.20.0.53, 10.20.0.54]")
    try differs("settings.everybody.mtu", .set(["1400"]), "dns: 10.20.0.53\n", "dns: 10.20.0.53\n    mtu: 1400\n")
    try differs("settings.groups.staff.keepalive", .set(["25"]), "{ mtu: 1380 }", "{ mtu: 1380, keepalive: 25 }")
    try differs("settings.groups.\"night.shift\".mtu", .set(["1300"]), "{ mtu: 1380 }\n", "{ mtu: 1380 }\n    night.shift: { mtu: 1300 }\n")
    try differs("settings.everybody.dns", .remove, "    dns: 10.20.0.53\n", "")
    try differs("page.title", .set(["Example Corp"]), "admins   # the two of us\n", "admins   # the two of us\n  title: Example Corp\n")
    try differs("page.administrators", .set(["operators"]), "admins   #", "operators  #")
    try differs("relay.port", .set(["8443"]), "us\n", "us\n\nrelay: { port: 8443 }\n")
    try differs("logins", .set(["on"]), "us\n", "us\n\nlogins: on\n")
    try differs("page", .set(["on"]), "us\n", "us\n")
  }

  @Test("nothing that is not named is lost in silence") func losses() throws {
    let key = "settings.everybody.routes"
    #expect(throws: SettingFault("\(key) would lose 10.20.0.0/16", help: "--add adds to the list; with --replace, it is replaced")) {
      try edited(Self.text, key, .set(["10.30.0.0/16", "10.40.0.0/16"]))
    }
    #expect(throws: SettingFault.self) { try edited(Self.text, "settings.everybody", .set(["{ routes: [10.30.0.0/16], mtu: 1300 }"])) }
    let replaced = try edited(Self.text, key, .set(["10.30.0.0/16", "10.40.0.0/16"]), replaces: true)
    #expect(replaced.contains("# the servers") == false && replaced.contains("# Of all."))
    #expect(try edited(Self.text, "settings.everybody", .set(["{ mtu: 1300 }"])).contains("dns: 10.20.0.53\n    mtu: 1300\n"))
  }

  @Test("lines keep their ends") func lineEnds() throws {
    let text = Self.text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
    let new = try edited(text, "settings.everybody.routes", .change(adding: ["10.40.0.0/16"], removing: []))
    #expect(new.contains("      - 10.30.0.0/16\r\n      - 10.40.0.0/16\r\n    dns: 10.20.0.53\r\n"))
    #expect(new.utf8.count == text.utf8.count + "      - 10.40.0.0/16\r\n".utf8.count)
  }

  @Test("mistakes are named, with a cure") func mistakes() throws {
    func fault(_ key: String, _ act: SettingEdit.Act) -> String? {
      do { _ = try edited(Self.text, key, act) } catch let fault as SettingFault { return "\(fault)" } catch { return nil }
      return nil
    }
    #expect(fault("page.tile", .set(["x"])) == "there is no key \"tile\" in page\n  help: did you mean `page.title`?")
    #expect(fault("settings.everybody.", .remove)?.hasPrefix("\"settings.everybody.\" is no key") == true)
    #expect(try edited(Self.text, "page.title", .remove) == Self.text)
    #expect(fault("page.title", .change(adding: ["x"], removing: []))?.hasPrefix("page.title is no list") == true)
    #expect(fault("settings.everybody.dns", .change(adding: [], removing: ["10.9.9.9"]))?.hasPrefix("10.9.9.9 is not in") == true)
    #expect(fault("page.title", .set(["[a"]))?.hasPrefix("\"[a\" is no value") == true)
  }

  @Test("a file in another form is left alone") func forms() {
    for text in ["{\"version\": 1, \"page\": {\"port\": 80}}", "version: 1\n? page\n: { port: 80 }\n"] {
      #expect(throws: SettingFault.self) { try edited(text, "page.title", .set(["x"])) }
    }
  }

  @Test("every key of a file can be named, and a completion is one") func keys() throws {
    #expect(SettingPath.all.count > 40)
    for key in SettingPath.all where !key.hasSuffix(".") { _ = try SettingPath(key) }
    for key in SettingPath.all where key.hasSuffix(".") { _ = try SettingPath(key + "name") }
  }

  /// The oracle: the values of the new text are those of the old one, with the change; each comment and each other line is there.
  @Test("random changes of random texts", arguments: 0..<400 as Range<UInt64>) func random(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let lineEnd = seed % 4 == 0 ? "\r\n" : "\n"
    var file = EditedFile(
      path: "gateway.yaml",
      text: RandomFile(&random).text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: lineEnd))
    for _ in 0..<12 {
      let before = file
      let edit = try Self.edit(&random)
      guard var tree = Self.tree(of: before.text) else { throw SettingFault("an unreadable text", help: before.text) }
      let outcome = Result { () throws(SettingFault) in try edit.value(of: tree[edit.path.keys[...]]) }
      switch outcome {
      case .failure(let fault): #expect(throws: fault) { try file.apply(edit) }
      case .success(let value):
        try file.apply(edit)
        tree.set(edit.path.keys[...], to: value)
        #expect(Self.tree(of: file.text) == tree, "seed \(seed): \(edit)\n\(before.text)\n---\n\(file.text)")
        #expect(file.text.utf8.count { $0 == 10 } == file.text.count { $0 == (seed % 4 == 0 ? "\r\n" : "\n") }, "seed \(seed)")
        let comments = Self.comments(before.text)
        // A comment of a line that is removed goes with it.
        if edit.act != SettingEdit.Act.remove, edit.removed.isEmpty, !edit.replaces {
          #expect(Self.comments(file.text).isSuperset(of: comments), "seed \(seed): \(edit)\n\(before.text)\n---\n\(file.text)")
        }
      }
    }
  }

  private static func tree(of text: String) -> SettingTree? {
    readYAML(SourceText(policy: "gateway.yaml", Array(text.utf8))).root.flatMap { SettingTree($0) }
  }

  /// The numbers of the comments of random files.
  private static func comments(_ text: String) -> Set<Int> {
    Set(
      text.split(whereSeparator: \.isNewline).flatMap { line in
        line.split(separator: "#").compactMap { part in
          part.hasPrefix(" note ") ? Int(part.dropFirst(6).prefix { $0.isNumber }) : nil
        }
      })
  }

  private static func edit(_ random: inout SplitMix64) throws -> SettingEdit {
    let keys = [
      "page.title", "page.port", "page.names", "relay.port", "logins.banner", "settings.everybody.routes", "settings.everybody.mtu",
      "settings.groups.staff.routes", "settings.groups.staff.dns", "settings.users.\"a.b\".mtu", "pools.lan.prefix", "users.bob.until",
      "page", "relay", "logins", "settings.groups.staff", "settings.groups", "store.stale-after",
    ]
    let key = keys.randomElement(using: &random) ?? "page"
    let path = try SettingPath(key)
    let words = ["10.1.0.0/16", "10.2.0.0/16", "true", "443", "\"443\"", "on", "Example Corp", "a, b", "x # y", "08:00", "~"]
    func some() -> [String] { (0..<Int.random(in: 1...3, using: &random)).compactMap { _ in words.randomElement(using: &random) } }
    switch Int.random(in: 0..<5, using: &random) {
    case 0: return SettingEdit(path, .remove)
    case 1: return SettingEdit(path, .change(adding: some(), removing: Bool.random(using: &random) ? some() : []))
    case 2: return SettingEdit(path, .set(["{ mtu: 1300, routes: [10.1.0.0/16] }"]))
    default:
      return SettingEdit(path, .set(some().map { $0 == "a, b" || $0 == "x # y" ? "\"\($0)\"" : $0 }), replaces: Bool.random(using: &random))
    }
  }
}

extension SettingEdit {
  fileprivate var removed: [String] { if case .change(_, let removing) = act { removing } else { [] } }
}

/// A file as people write them: blocks and braces, comments in all places, blank lines, quotes.
private struct RandomFile {
  private(set) var text = "version: 1\n"
  private var count = 0

  init(_ random: inout SplitMix64) {
    for key in ["page", "settings", "relay", "pools", "users", "logins"].shuffled(using: &random)
    where Int.random(in: 0..<4, using: &random) > 0 {
      if Bool.random(using: &random) { text += "\n" }
      if Bool.random(using: &random) { text += comment(0) + "\n" }
      switch key {
      case "page": mapping("page", [("title", "Example"), ("port", "80"), ("names", "[a.example, b.example]")], 0, &random)
      case "relay": text += Bool.random(using: &random) ? "relay: off\n" : "relay: { port: 443 }" + end(&random)
      case "pools": mapping("pools", [("lan", "{ prefix: 10.77.0.0/24, masquerade: true }"), ("two", "{ prefix: fd77::/64 }")], 0, &random)
      case "users": mapping("users", [("alice", "{}"), ("bob", "{ until: 2027-01-31 }"), ("carol", "~")], 0, &random)
      case "logins": mapping("logins", [("banner", "\"Members, only\"")], 0, &random)
      default:
        text += "settings:" + end(&random)
        mapping("everybody", [("mtu", "1400"), ("dns", "10.0.0.1")], 2, &random)
        text += "  groups:" + end(&random)
        text += "    staff:" + end(&random) + "      routes:" + end(&random)
        for i in 1...3 { text += "        - 10.\(i).0.0/16" + end(&random) }
      }
    }
  }

  private mutating func comment(_ indent: Int) -> String {
    count += 1
    return String(repeating: " ", count: indent) + "# note \(count)"
  }

  private mutating func end(_ random: inout SplitMix64) -> String {
    Int.random(in: 0..<3, using: &random) == 0 ? "   " + comment(0) + "\n" : "\n"
  }

  private mutating func mapping(_ key: String, _ entries: [(String, String)], _ indent: Int, _ random: inout SplitMix64) {
    let space = String(repeating: " ", count: indent)
    if Int.random(in: 0..<3, using: &random) == 0 {
      text += "\(space)\(key): { \(entries.map { "\($0.0): \($0.1)" }.joined(separator: ", ")) }" + end(&random)
      return
    }
    text += "\(space)\(key):" + end(&random)
    for entry in entries {
      if Int.random(in: 0..<3, using: &random) == 0 { text += comment(indent + 2) + "\n" }
      text += "\(space)  \(entry.0): \(entry.1)" + end(&random)
    }
  }
}
