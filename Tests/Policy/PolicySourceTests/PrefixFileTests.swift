import NetworkTypes
import PolicyFiles
import RoamwardCore
import Testing

@testable import PolicySource

/// Lists of prefixes in files of their own.
@Suite struct PrefixFileTests {
  private static let policy = """
    version: 1
    tunnels:
      t:
        provider: { command: { up: [/u], down: [/d], interface: t0 } }
        routes: { include-file: in.prefixes, include: [10.0.0.0/8], exclude-file: out.prefixes }

    """

  private func routes(_ included: String, _ excluded: String = "") -> (RoutePolicy?, LoadedPolicies) {
    let loaded = load(Self.policy, ["/etc/p/in.prefixes": included, "/etc/p/out.prefixes": excluded])
    return (loaded.policies.tunnels.first?.routes, loaded)
  }

  private func prefixes(_ texts: String...) -> PrefixList { PrefixList(texts.compactMap { IPPrefix($0) }) }

  @Test("a line has a prefix; comments, blanks and both line ends are no part of it; those of the policy come first") func reads() {
    let (found, loaded) = routes("# office\n192.0.2.0/24\r\n\n \t2001:db8::/32  # IPv6\n198.51.100.7", "default\n")
    #expect(loaded.report == "" && loaded.dependencies == ["/etc/p/in.prefixes", "/etc/p/out.prefixes"])
    #expect(found?.include == prefixes("10.0.0.0/8", "192.0.2.0/24", "2001:db8::/32", "198.51.100.7/32"))
    #expect(found?.exclude == prefixes("0.0.0.0/0", "::/0"))
    #expect(found?.includeFile?.path == "/etc/p/in.prefixes" && found?.includeFile?.prefixes.count == 3)
    #expect(routes("").0?.include == prefixes("10.0.0.0/8"))
  }

  @Test("the printed form names the files, and is read back as the same routes") func prints() throws {
    let (found, loaded) = routes("192.0.2.0/24\ndefault\n", "10.1.0.0/16\n")
    let tunnel = try #require(loaded.policies.tunnels.first)
    let text = PolicyPrinter.yaml(PolicySet(tunnels: [tunnel]))
    #expect(text.contains("include-file: /etc/p/in.prefixes") && !text.contains("192.0.2.0"))
    let again = load(text, ["/etc/p/in.prefixes": "192.0.2.0/24\ndefault\n", "/etc/p/out.prefixes": "10.1.0.0/16\n"])
    #expect(again.report == "" && again.policies.tunnels.first?.routes == found)
  }

  @Test(
    "a line that is no prefix is an error with its place: a list that lacks one would let packets out",
    arguments: [
      ("192.0.2.0/24\n10.0.0.0/33\n", "2:1"), ("  office\n", "1:3"), ("10.0.0.0/8 10.1.0.0/16\n", "1:1"), ("\u{0}\n", "1:1"),
    ])
  func refuses(text: String, place: String) {
    let (_, loaded) = routes(text)
    #expect(loaded.hasErrors)
    #expect(loaded.report.hasPrefix("/etc/p/in.prefixes:\(place): error: expected a prefix such as 10.0.0.0/8, or `default`"))
  }

  @Test("a prefix with bits beyond its length is read, with a warning") func hostBits() {
    let (found, loaded) = routes("192.0.2.7/24\n")
    #expect(found?.include.last == IPPrefix("192.0.2.0/24") && !loaded.hasErrors)
    #expect(loaded.report.hasPrefix("/etc/p/in.prefixes:1:1: warning: 192.0.2.7/24 is read as 192.0.2.0/24"))
  }

  @Test("a file that is missing, too large or not root's is an error of the policy that names it") func unusable() {
    #expect(load(Self.policy, ["/etc/p/out.prefixes": ""]).report.contains("/etc/p/in.prefixes cannot be used: No such file or directory"))
    let line = String(repeating: "#", count: 1 << 20) + "\n"
    #expect(routes(String(repeating: line, count: 16)).1.report.contains("in.prefixes cannot be used: it is larger than 16 MiB"))
    var files = MemoryFiles(["/etc/p/10.yaml": Self.policy, "/etc/p/in.prefixes": "", "/etc/p/out.prefixes": ""])
    files.files["/etc/p/in.prefixes"]?.status.owner = 1000
    #expect(files.load().report.contains("in.prefixes cannot be used: it is not owned by root, but by uid 1000"))
  }

  @Test("a hundred thousand destinations are read") func many() {
    let lines = (0..<100_000).map { "10.\($0 >> 16).\($0 >> 8 & 255).\($0 & 255)\n" }.joined()
    let (found, loaded) = routes(lines)
    #expect(loaded.report == "" && found?.include.count == 100_001)
  }
}
