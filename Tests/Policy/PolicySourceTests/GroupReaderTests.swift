import RoamwardCore
import Testing

@testable import PolicySource

/// `groups:` in policy files.
@Suite struct GroupReaderTests {
  private static let tunnels = """
    version: 1
    tunnels:
      paris: { provider: { command: { up: [/u], down: [/d], interface: t0 } } }
      lyon: { provider: { command: { up: [/u], down: [/d], interface: t1 } } }
      alone: { provider: { command: { up: [/u], down: [/d] } } }
      ruled: { provider: { command: { up: [/u], down: [/d], interface: t2 } }, on-demand: { rules: [ { action: connect } ] } }
      first: { class: enterprise, provider: { command: { up: [/u], down: [/d], interface: t3 } } }
      all: { include-all-networks: true, provider: { command: { up: [/u], down: [/d], interface: t4 } } }
      inner: { through: paris, provider: { command: { up: [/u], down: [/d], interface: t5 } } }

    """

  @Test("the members have the rules of their group, and the strictest kill switch of all") func applied() throws {
    let loaded = load(
      Self.tunnels.replacing("  lyon: {", with: "  lyon: { kill-switch: always,").replacing(
        "  inner: { through: paris,", with: "  inner: {")
        + "groups: { work: { one-of: [lyon, paris], prefer: nearest, kill-switch: \"on\", "
        + "on-demand: { rules: [ { action: connect } ] } } }\n")
    #expect(!loaded.hasErrors, "\(loaded.report)")
    let group = try #require(loaded.policies.groups.first)
    #expect(group.members.map(\.name) == ["lyon", "paris"] && group.preference == .nearest && group.killSwitch == .always)
    for name in ["lyon", "paris"] {
      let tunnel = try #require(loaded.policies.tunnel(named: name))
      #expect(tunnel.onDemand.rules.map(\.action) == [.connect] && tunnel.killSwitch == .always)
      #expect(loaded.policies.group(of: name) == group)
    }
    #expect(loaded.policies.group(of: "alone") == nil && loaded.policies.tunnel(named: "alone")?.onDemand == OnDemand())
    #expect(loaded.policies.tunnels(meant: "work").map(\.name) == ["lyon", "paris"])
    #expect(loaded.policies.tunnels(meant: "alone").map(\.name) == ["alone"] && loaded.policies.tunnels(meant: "none") == [])
  }

  @Test("what is printed is read as the same, and prints the same again") func printed() {
    let loaded = load(
      Self.tunnels.replacing("  inner: { through: paris,", with: "  inner: {") + """
        groups:
          work: { one-of: [lyon, paris], prefer: nearest, kill-switch: "on", on-demand: { rules: [ { action: connect } ] } }
          other: { one-of: [alone, inner] }

        """)
    let text = PolicyPrinter.yaml(loaded.policies)
    let again = load(text)
    #expect(!again.hasErrors, "\(again.report)\n\(text)")
    #expect(PolicyPrinter.yaml(again.policies) == text)
    #expect(again.policies.groups.map(\.onDemand.rules.count) == [1, 0])
    #expect(again.policies.groups.map(\.killSwitch) == [.on, .off] && again.policies.groups.map(\.preference) == [.nearest, .order])
    #expect(text.contains("groups:\n  work:\n    one-of: [lyon, paris]\n"), "\(text)")
  }

  @Test("the identification of a set knows its groups, and is what it was without any") func identified() {
    let without = load(Self.tunnels).policies
    var with = without
    with.groups = [
      TunnelGroup(name: "g", members: [], location: Place(file: "", line: 1, column: 1))
    ]
    let digest = { (text: String) in "<\(text)>" }
    #expect(with.identification(digest).hasPrefix(String(without.identification(digest).dropLast())))
    #expect(with.identification(digest) != without.identification(digest))
  }

  @Test(
    "each mistake is said with its place and its cure",
    arguments: [
      ("work: { one-of: [paris, lyom] }", "there is no tunnel \"lyom\", which the group `work` names", "did you mean `lyon`?"),
      (
        "work: { one-of: [paris, zzzzzzzz] }",
        "there is no tunnel \"zzzzzzzz\", which the group `work` names",
        "define it under `tunnels:`, in any file"
      ),
      (
        "work: { one-of: [] }",
        "group `work` has no members, and a group chooses one of several",
        "name at least two tunnels: `one-of: [paris, lyon]`"
      ),
      (
        "work: { one-of: [paris] }",
        "group `work` has one member, and a group chooses one of several",
        "name at least two tunnels: `one-of: [paris, lyon]`"
      ),
      ("work: { one-of: [lyon, first, lyon] }", "group `work` names \"lyon\" twice", "remove one of the two"),
      ("work: { prefer: order }", "`one-of` is missing in a group", "name at least two tunnels: `one-of: [paris, lyon]`"),
      ("work: { one-of: lyon }", "expected a list of tunnels, found \"lyon\"", "write `one-of: [paris, lyon]`"),
      (
        "work: { one-of: [lyon, ruled] }",
        "`ruled` has `on-demand` of its own, and the rules of its group `work` are those of all members",
        "move `on-demand` to the group, or take `ruled` out of it"
      ),
      (
        "work: { one-of: [lyon, first] }",
        "`first` is enterprise, and `lyon` of the same group `work` is personal",
        "give all members the same `class`"
      ),
      (
        "work: { one-of: [lyon, all] }",
        "of the group `work`, only `all` has `include-all-networks`: its kill switch would block all else while the "
          + "other one is in use",
        "give all members `include-all-networks`, or none"
      ),
      (
        "work: { one-of: [lyon, paris] }",
        "`inner` goes through `paris`, which gives way to other members of its group `work`",
        "go through a tunnel that is in no group"
      ),
      (
        "lyon: { one-of: [first, all] }",
        "group `lyon` has the name of a tunnel (/etc/p/10.yaml:4:3), and commands take either",
        "rename one of the two"
      ),
      (
        "work: { one-of: [lyon, alone], kill-switch: always }",
        "the kill switch of the group `work` needs the link of `alone`",
        "add `interface:` to its `command`"
      ),
      (
        "work: { one-of: [lyon, inner] }\n  more: { one-of: [lyon, alone] }",
        "`lyon` is in the groups `work` and `more`",
        "leave it to one of the two"
      ),
      (
        "work: { one-of: [lyon, inner], prefer: nearst }",
        "expected order or nearest, found \"nearst\"",
        "did you mean `nearest`?"
      ),
      ("work: { one-of: [lyon, inner], prefers: order }", "unknown key \"prefers\" in a group", "did you mean `prefer`?"),
      (
        "\"-x\": { one-of: [lyon, inner] }",
        "\"-x\" cannot be the name of a group",
        "use 1 to 64 letters, digits, `.`, `_` and `-`, not beginning with `.` or `-`"
      ),
      (
        "work: { one-of: [lyon, inner], on-demand: { rules: [ { action: evaluate-connection, "
          + "connections: [ { domains: [a.example], action: connect-if-needed } ] } ] } }",
        "a group's rules cannot say `evaluate-connection`: a member without a session cannot give way to the next",
        "write `connect`, or give one tunnel the rule outside of the group"
      ),
    ])
  func mistake(groups: String, message: String, help: String) throws {
    let loaded = load(Self.tunnels + "groups:\n  \(groups)\n")
    let found = try #require(loaded.diagnostics.first { $0.message == message }, "\(loaded.report)")
    #expect(found.severity == .error && found.help == help)
    #expect(found.location.file == "/etc/p/10.yaml" && found.location.line > 1)
  }

  @Test("a group twice, in two files, is refused with both places") func twice() {
    let loaded = MemoryFiles([
      "/etc/p/10.yaml": Self.tunnels + "groups: { work: { one-of: [lyon, inner] } }\n",
      "/etc/p/20.yaml": "version: 1\ngroups: { work: { one-of: [lyon, inner] } }\n",
    ]).load()
    let messages = loaded.diagnostics.map(\.message)
    #expect(messages.contains("group `work` is defined twice; the first is at /etc/p/10.yaml:10:11"), "\(loaded.report)")
  }
}
