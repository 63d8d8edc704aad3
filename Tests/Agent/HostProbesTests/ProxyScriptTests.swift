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

  @Test("a script that does not end, takes all memory or is wrong gives an error in time, and does no harm")
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
