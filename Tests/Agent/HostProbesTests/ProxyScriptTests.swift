import Glibc
import KernelModel
import LinuxIO
import NetworkTypes
import TestSupport
import Testing

@testable import HostProxies

/// Scripts of proxies, run by libpacparser in the process of `roamward proxy`.
@Suite("Scripts of proxies", .enabled(if: dlopen("libpacparser.so.1", RTLD_NOW) != nil, "libpacparser1 is not installed"))
struct ProxyScriptTests {
  private static let rules: [ProxyRules] = {
    let servers = [ProxyServer("10.0.0.80:3128"), ProxyServer("https://p.example"), ProxyServer("http://[2001:db8::80]:8080/"), nil]
    let exceptions = [
      [], ["corp.example"], ["*.corp.example", "192.0.2.7"], ["10.0.0.0/8", "172.16.0.0/12", "2001:db8::/33", "::/128"], ["*"],
      ["0.0.0.0/0"], ["::/0", "a.corp.example", "198.51.100.128/25"],
    ]
    return exceptions.enumerated().flatMap { number, words in
      [false, true].map { simple in
        ProxyRules(
          http: servers[number % 4], https: servers[(number + 1) % 4], exclude: words.compactMap { ProxyException($0) },
          excludesSimpleNames: simple)
      }
    }
  }()

  private static let hosts = [
    "corp.example", "a.corp.example", "b.a.CORP.example", "xcorp.example", "corp.example.org", "intranet", "localhost", "x.localhost",
    "127.0.0.1", "127.255.0.1", "10.0.0.1", "11.0.0.1", "172.15.255.255", "172.16.0.1", "172.31.255.255", "172.32.0.1", "192.0.2.7",
    "198.51.100.127", "198.51.100.128", "[::1]", "[::]", "[2001:db8::1]", "[2001:db8:8000::1]", "[2001:db8:7fff:ffff::]",
    "[::ffff:10.0.0.1]", "[fe80::1:2:3:4]", "1.2.3.4.example",
  ]

  @Test("the script made of rules decides as the rules do, for each host and scheme", arguments: rules.indices)
  func agreement(number: Int) throws {
    let rules = Self.rules[number]
    // One process for each URL: a few of each.
    for (place, host) in Self.hosts.enumerated() where place % 3 == number % 3 {
      let scheme = ["http", "https", "ftp"][place / 3 % 3 == 2 ? 2 : place % 2]
      let target = try #require(ProxyTarget("\(scheme)://\(host)/x"), "\(host)")
      let found = try ScriptEvaluation.run(ProxyScript.rules(rules, tunnel: "corp").bytes, url: target.url, host: target.host)
      let wanted =
        switch rules.choice(scheme: target.scheme, host: target.host) {
        case .direct: "DIRECT"
        case .proxy(let server, _): server.directive
        }
      #expect(found == wanted, "\(target.url) by \(rules)")
    }
  }

  @Test("a script that does not end, takes all memory or is wrong gives an error in time, and harms nobody")
  func limits() {
    let scripts: [(String, String)] = [
      ("function FindProxyForURL(url, host) { while (true); }", "does not end within its limits"),
      ("function FindProxyForURL(url, host) { var a = \"x\"; while (true) a += a; }", ""),
      ("function FindProxyForURL(url, host) { return f(); function f() { return f(); } }", ""),
      ("function FindProxyForURL(url, host) {", "has an error"), ("var x = 1;", "has an error"), ("\0", "has an error"),
      ("", "has an error"),
      (String(repeating: "(", count: 200_000), ""),
    ]
    for (script, wanted) in scripts {
      let began = Moment.now
      let failure = #expect(throws: ScriptEvaluation.Failure.self, "\(script.prefix(60))") {
        try ScriptEvaluation.run(Array(script.utf8), url: "http://www.example/", host: "www.example")
      }
      #expect(wanted.isEmpty || failure?.description.contains(wanted) == true, "\(script.prefix(60)): \(failure?.description ?? "none")")
      #expect(Moment.now - began < .seconds(60))
    }
  }

  @Test("a script gets the URL and the host, and no name is looked up for it")
  func surroundings() throws {
    let script = """
      function FindProxyForURL(url, host) {
        if (isPlainHostName(host)) return "PROXY plain:1";
        return url + "|" + host + "|" + dnsDomainIs(host, ".example") + "|" + isResolvable("localhost") + "|" + shExpMatch(host, "*.ex*");
      }
      """
    let bytes = Array(script.utf8)
    #expect(
      try ScriptEvaluation.run(bytes, url: "http://www.example/a", host: "www.example")
        == "http://www.example/a|www.example|true|false|true")
    #expect(try ScriptEvaluation.run(bytes, url: "http://www/", host: "www") == "PROXY plain:1")
  }
}

/// The files by which programs are given the address of proxies, in a folder.
@Suite struct ProxyFilesTests {
  private final class Machine {
    let folder: TemporaryFolder
    var files: ProxyFiles
    var etc: String { folder.path + "/etc" }

    init() throws {
      folder = try TemporaryFolder()
      try Folder.make(folder.path + "/etc", mode: 0o755)
      try Folder.make(folder.path + "/state", mode: 0o755)
      files = ProxyFiles(root: folder.path + "/etc", stateDirectory: folder.path + "/state")
      files.programs = { $0 == "dconf" }
      let etc = folder.path + "/etc"
      // As dconf update does: a database for each folder.
      files.compile = {
        for name in Folder.names(in: "\(etc)/dconf/db") where name.hasSuffix(".d") {
          try? TextFile.replace("\(etc)/dconf/db/\(name.dropLast(2))", with: [1], mode: 0o644)
        }
        return nil
      }
    }

    /// Every file and folder, with its content.
    var tree: [String] {
      func list(_ path: String) -> [String] {
        Folder.names(in: path).flatMap { name -> [String] in
          let child = "\(path)/\(name)"
          if let bytes = try? TextFile.read(child) { return [child + ": " + String(decoding: bytes, as: UTF8.self)] }
          return [child + "/"] + list(child)
        }
      }
      return list(folder.path)
    }

    var observed: ObservedProxies {
      var observed = ObservedProxies()
      files.observe(&observed)
      return observed
    }

    func put(_ text: String, _ path: String) throws {
      try Folder.make(Folder.parent(of: "\(etc)/\(path)"), mode: 0o755)
      try TextFile.replace("\(etc)/\(path)", with: Array(text.utf8), mode: 0o644)
    }
  }

  private static let all: Set<ProxySink> = [.pac, .environment, .dconf, .chromium, .chrome, .firefox]

  @Test("are written and removed, and nothing is left of them, wherever they were interrupted")
  func life() throws {
    let machine = try Machine()
    let before = machine.tree
    try machine.files.publish(Self.all)
    #expect(machine.observed.published == [.dconf, .chromium, .chrome, .firefox] && machine.observed.obstacles.isEmpty)
    let chromium = String(decoding: try TextFile.read(machine.etc + "/chromium/policies/managed/roamward-proxies.json"), as: UTF8.self)
    #expect(chromium.contains("\"ProxyPacUrl\": \"http://127.82.0.80:82/proxy.pac\""))
    let full = machine.tree
    try machine.files.publish(Self.all)
    #expect(machine.tree == full)
    try machine.files.publish([.firefox])
    #expect(machine.observed.published == [.firefox] && machine.observed.remains == [.firefox])
    try machine.files.withdraw()
    #expect(machine.tree == before)
    #expect(machine.observed == ObservedProxies())
  }

  @Test("of other programs stay as they are, and are told with the cure")
  func others() throws {
    let machine = try Machine()
    try machine.put("{\"policies\": {}}", "firefox/policies/policies.json")
    try machine.put("user-db:user\n", "dconf/profile/user")
    try machine.put("{\"ProxyMode\": \"direct\"}", "chromium/policies/managed/ours.json")
    try machine.put("{\"HomepageLocation\": \"x\"}", "opt/chrome/policies/managed/home.json")
    let before = machine.tree
    try machine.files.publish(Self.all)
    let observed = machine.observed
    #expect(observed.published == [.chrome])
    #expect(observed.obstacles[.firefox]?.contains("cure: add \"Proxy\"") == true)
    #expect(observed.obstacles[.dconf]?.contains("system-db:local") == true)
    #expect(observed.obstacles[.chromium]?.contains("ours.json sets the browser's proxy already") == true)
    try machine.files.withdraw()
    #expect(machine.tree == before)
  }

  @Test("of a system with a database of its own are compiled anew, and its own settings stay")
  func ownDatabase() throws {
    let machine = try Machine()
    try machine.put("user-db:user\nsystem-db:local\n", "dconf/profile/user")
    try machine.put("[x]\ny=1\n", "dconf/db/local.d/00-site")
    try machine.put("\u{1}", "dconf/db/local")
    let before = machine.tree
    try machine.files.publish([.dconf])
    #expect(machine.observed.published == [.dconf])
    try machine.files.withdraw()
    #expect(machine.tree == before)
    machine.files.programs = { _ in false }
    #expect(machine.observed.obstacles[.dconf]?.contains("install dconf-cli") == true)
  }

  @Test("that were changed count as not published, and are written again")
  func changed() throws {
    let machine = try Machine()
    try machine.files.publish([.chromium])
    try machine.put("{}", "chromium/policies/managed/roamward-proxies.json")
    #expect(machine.observed.published == [] && machine.observed.remains == [.chromium])
    try machine.files.publish([.chromium])
    #expect(machine.observed.published == [.chromium])
  }
}
