import NetworkTypes
import PolicyFiles
import RoamwardCore
import Testing

@testable import PolicySource

private func tunnel(_ name: String) -> String { "version: 1\ntunnels: { \(name): { provider: { command: { up: [/u], down: [/d] } } } }\n" }

@Suite struct LoadingTests {
  private let layers = ["/usr/p", "/run/p", "/etc/p"]

  @Test("a later layer replaces the file of the same name, and names sort together in byte order")
  func layering() {
    let files = MemoryFiles([
      "/usr/p/10-a.yaml": tunnel("old"), "/etc/p/10-a.yaml": tunnel("new"), "/usr/p/20-b.yaml": tunnel("b"),
      "/run/p/05-c.json": tunnel("c"),
      "/etc/p/B.yml": tunnel("upper"), "/etc/p/a.yml": tunnel("lower"),
    ])
    let loaded = files.load(layers)
    #expect(loaded.report == "")
    #expect(loaded.policies.tunnels.map(\.name) == ["c", "new", "b", "upper", "lower"])
    #expect(loaded.files == ["/run/p/05-c.json", "/etc/p/10-a.yaml", "/usr/p/20-b.yaml", "/etc/p/B.yml", "/etc/p/a.yml"])
    #expect(
      loaded.ignored == [IgnoredFile(path: "/usr/p/10-a.yaml", reason: "replaced by /etc/p/10-a.yaml", replacement: "/etc/p/10-a.yaml")])
  }

  @Test("an empty file and a link to /dev/null mask", arguments: ["", "# nothing\n", "---\n", nil])
  func masks(text: String?) {
    var files = MemoryFiles(["/usr/p/10-a.yaml": tunnel("a"), "/usr/p/20-b.yaml": tunnel("b")])
    files["/etc/p/10-a.yaml"] = text ?? ""
    // The link's target belongs to root, and everyone may write it.
    if text == nil { files.files["/etc/p/10-a.yaml"]?.status = .init(kind: .null, owner: 0, mode: 0o666) }
    let loaded = files.load(layers)
    #expect(loaded.policies.tunnels.map(\.name) == ["b"] && loaded.diagnostics == [] && loaded.files == ["/usr/p/20-b.yaml"])
    #expect(loaded.ignored.map(\.path).contains("/etc/p/10-a.yaml"))
  }

  @Test("what else lies in a folder of policies is passed over, and told")
  func leftOvers() {
    let names = [
      ".hidden.yaml", "a.yaml~", ".a.yaml.swp", "a.yaml.bak", "a.yaml.dpkg-dist", "b.dpkg-old.yaml", "a.yaml.rpmnew", "#a.yaml#",
      "a.expect", "README",
      "a\u{1b}[2J.yaml", "a\n.yaml",
    ]
    var files = MemoryFiles(["/etc/p/ok.yaml": tunnel("ok")])
    for name in names { files["/etc/p/" + name] = tunnel("x") }
    let loaded = files.load()
    #expect(loaded.policies.tunnels.map(\.name) == ["ok"] && loaded.diagnostics == [])
    #expect(Set(loaded.ignored.map(\.path)) == Set(names.map { "/etc/p/" + $0 }))
  }

  @Test("what a root agent would refuse for its owner or permissions is told of, once each") func ownershipDoubts() {
    let policy = "version: 1\ntunnels: { t: { provider: { wireguard: { config: t.conf } } } }\n"
    var files = MemoryFiles(["/etc/p/1.yaml": policy, "/etc/p/2.yaml": "version: 1\n", "/etc/p/t.conf": Samples.wireGuard])
    #expect(files.load(asRoot: false).ownershipDoubts(files: files.system) == [])
    files.files["/etc/p/1.yaml"]?.status.owner = 65534
    files.files["/etc/p/t.conf"]?.status.owner = 1000
    files.files["/etc/p/2.yaml"]?.status.mode = 0o666
    let doubts = files.load(asRoot: false).ownershipDoubts(files: files.system)
    #expect(
      doubts.map { "\($0.location.file): \($0.message)" } == [
        "/etc/p/1.yaml: an agent that runs as root would refuse this file: it is not owned by root, but by uid 65534",
        "/etc/p/2.yaml: an agent that runs as root would refuse this file: it can be written by everyone",
        "/etc/p/t.conf: an agent that runs as root would refuse this file: it is not owned by root, but by uid 1000",
      ])
    #expect(doubts.map(\.help) == ["chown root /etc/p/1.yaml", "chmod go-w /etc/p/2.yaml", "chown root /etc/p/t.conf"])
    #expect(doubts.allSatisfy { $0.severity == .warning })
  }

  @Test("missing folders are empty; a missing file is an error")
  func missing() {
    let loaded = MemoryFiles().load(["/none", "/none/x.yaml"])
    #expect(loaded.ignored == [IgnoredFile(path: "/none", reason: "there is no such folder")])
    #expect(loaded.report == "/none/x.yaml:1:1: error: this file cannot be used: No such file or directory")
    #expect(MemoryFiles().load([]).diagnostics == [])
  }

  @Test("a layer may be a single file, of any name, and its paths are told from the root")
  func singleFile() {
    var files = MemoryFiles(["sub/my-policy": "version: 1\nnetworks: { a: { ssid-file: x } }\n", "/work/sub/x": "Home\n"])
    files.folders["sub"] = .init(kind: .folder, mode: 0o755)
    files["/work/sub/my-policy"] = files["sub/my-policy"]
    let loaded = files.load(["sub/my-policy"])
    #expect(loaded.report == "" && loaded.files == ["sub/my-policy"] && loaded.dependencies == ["/work/sub/x"])
    #expect(
      loaded.policies.networks.first?.condition == .all([.ssidFile(SSIDFile(path: "/work/sub/x", contents: .entries([ssid("Home")])))]))
  }

  @Test("the same name twice is an error that names both places")
  func twice() {
    let loaded = MemoryFiles([
      "/etc/p/1.yaml": tunnel("a"),
      "/etc/p/2.yaml": "version: 1\nnetworks: { n: { ssid: x } }\n" + "tunnels: { a: { provider: { command: { up: u, down: d } } } }\n",
      "/etc/p/3.yaml": "version: 1\nnetworks: { n: { ssid: y } }\n",
    ]).load()
    #expect(
      loaded.diagnostics.map { "\($0.location) \($0.message)" } == [
        "/etc/p/2.yaml:3:12 tunnel `a` is defined twice; the first is at /etc/p/1.yaml:2:12",
        "/etc/p/3.yaml:2:13 network `n` is defined twice; the first is at /etc/p/2.yaml:2:13",
      ])
  }

  @Test("networks are known across files")
  func across() {
    let loaded = MemoryFiles([
      "/etc/p/1.yaml": "version: 1\nnetworks: { a: { network: b }, c: { ssid: x } }\n",
      "/etc/p/2.yaml": "version: 1\nnetworks: { b: { network: c } }\n",
    ]).load()
    #expect(loaded.report == "" && loaded.policies.networks.map(\.name) == ["a", "c", "b"])
  }

  @Test(
    "what others than root could have written is refused when it counts",
    arguments: [
      (1000, 0o644, 0, 0o755, "its owner"), (0, 0o664, 0, 0o755, "its group"), (0, 0o646, 0, 0o755, "everyone"),
      (0, 0o644, 1000, 0o755, "its owner"),
      (0, 0o644, 0, 0o1777, "everyone"), (0, 0o644, 0, 0o775, "its group"), (0, 0o444, 0, 0o700, nil),
    ] as [(UInt32, UInt32, UInt32, UInt32, String?)])
  func ownership(owner: UInt32, mode: UInt32, folderOwner: UInt32, folderMode: UInt32, refusal: String?) {
    var files = MemoryFiles(["/etc/p/1.yaml": tunnel("a")])
    files.files["/etc/p/1.yaml"]?.status = .init(kind: .regular, owner: owner, mode: mode)
    files.folders["/etc/p"] = .init(kind: .folder, owner: folderOwner, mode: folderMode)
    #expect(files.load(asRoot: false).report == "")
    let loaded = files.load()
    #expect(loaded.hasErrors == (refusal != nil) && loaded.policies.tunnels.isEmpty == (refusal != nil))
    if refusal != nil { #expect(loaded.diagnostics.count == 1 && loaded.diagnostics[0].help?.hasPrefix("ch") == true) }
  }

  @Test("a configuration of others is refused, and their SSID list cannot be read")
  func ownershipOfDependencies() {
    var files = MemoryFiles(["/etc/p/1.yaml": Samples.policy, "/etc/p/corp.conf": Samples.wireGuard, "/etc/p/trusted.ssids": "Home\n"])
    files.files["/etc/p/trusted.ssids"]?.status.owner = 1000
    let loaded = files.load()
    #expect(!loaded.hasErrors)
    let match = loaded.policies.tunnels.first?.onDemand.rules[3].match
    guard case .all(let parts)? = match else { return #expect(Bool(false)) }
    #expect(
      parts[1]
        == .ssidFile(SSIDFile(path: "/etc/p/trusted.ssids", contents: .unreadable(reason: "it is not owned by root, but by uid 1000"))))
    files.files["/etc/p/corp.conf"]?.status.mode = 0o622
    #expect(files.load().diagnostics.contains { $0.severity == .error && $0.help == "chmod go-w /etc/p/corp.conf" })
  }

  @Test("a missing SSID list is a warning, and it is waited for")
  func missingList() {
    let loaded = load("version: 1\nnetworks: { a: { ssid-file: none } }")
    #expect(!loaded.hasErrors && loaded.dependencies == ["/etc/p/none"])
    #expect(loaded.diagnostics.map(\.message) == ["/etc/p/none cannot be used: No such file or directory"])
  }

  @Test("networks that grow beyond measure, long chains and long circles are refused in good time")
  func growth() {
    func text(_ networks: [(String, String)]) -> String { "version: 1\nnetworks:\n" + networks.map { "  \($0.0): { \($0.1) }\n" }.joined() }
    let laughs = (0..<20).map { ("n\($0)", $0 == 19 ? "ssid: x" : "network: [n\($0 + 1), n\($0 + 1), n\($0 + 1)]") }
    #expect(load(text(laughs)).diagnostics.first?.message == "network `n0` comes to more than 10,000 conditions through those it names")
    let chain = (0..<10_000).map { ("n\($0)", $0 == 9999 ? "ssid: x" : "network: n\($0 + 1)") }
    #expect(load(text(chain)).hasErrors)
    let circle = (0..<10_000).map { ("n\($0)", "network: n\(($0 + 1) % 10_000)") }
    #expect(load(text(circle)).hasErrors)
    let short = (0..<30).map { ("n\($0)", $0 == 29 ? "ssid: x" : "network: n\($0 + 1)") }
    #expect(load(text(short)).report == "")
  }

  @Test("white space of an SSID in a list is told where it is, and a comment that is not in the first column as such")
  func ssidSpace() {
    let (_, diagnostics) = readSSIDList(Array(" a\nb \n c \n\t# d\n # e\nf\t\n".utf8), file: "f")
    let said = diagnostics.map { "\($0.location.line) \($0.message.dropFirst(23).prefix { $0 != "o" }) \($0.help ?? "")" }
    let remove = "remove it if that is not meant"
    #expect(
      said == [
        "1 beginning  \(remove)", "2 end  \(remove)", "3 beginning and the end  \(remove)",
        "5 beginning  a comment begins with `#` in the first column", "6 end  \(remove)",
      ], "\(said)")
  }

  @Test("lists of SSIDs")
  func ssidList() {
    let (entries, diagnostics) = readSSIDList(
      [0xff, 0xfe, 10]
        + Array("\u{feff}# c\r\nHome\r\n\r\n  \nhex:00ff\nhex:zz\nA B # x\n x\n\(String(repeating: "a", count: 33))\nlast".utf8), file: "f")
    #expect(
      entries == [
        SSID(bytes: [0xff, 0xfe])!, SSID(bytes: Array("\u{feff}# c".utf8))!, ssid("Home"), ssid("hex:00ff"), ssid("A B # x"), ssid(" x"),
        ssid("last"),
      ])
    #expect(diagnostics.map(\.location.line) == [7, 9, 10] && diagnostics.allSatisfy { $0.severity == .warning })
    #expect(readSSIDList(Array("\u{feff}# c\nHome".utf8), file: "f").entries == [ssid("Home")])
    #expect(readSSIDList([], file: "f").entries == [])
  }

  @Test(
    "the SSID of a file of one line",
    arguments: [
      ("", .known(nil)), ("\n", .known(nil)), ("\r\n", .known(nil)), ("Home", .known(ssid("Home"))), ("Home\n", .known(ssid("Home"))),
      ("Home \r\nmore", .known(ssid("Home "))), ("#1\n", .known(ssid("#1"))), ("hex:ff", .known(ssid("hex:ff"))),
      (String(repeating: "x", count: 33), .unknown(reason: "the SSID file's first line is not an SSID of 1 to 32 bytes")),
    ] as [(String, Fact<SSID?>)])
  func ssidFact(text: String, fact: Fact<SSID?>) { #expect(parseSSIDFact(Array(text.utf8)) == fact) }
}
