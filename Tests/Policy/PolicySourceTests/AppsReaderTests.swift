import RoamwardCore
import Testing

@testable import PolicySource

/// `apps:` in policy files.
@Suite struct AppsReaderTests {
  private func policy(_ apps: String, _ rest: String = "") -> String {
    "version: 1\ntunnels:\n  t: { provider: { command: { up: [/u], down: [/d], interface: t0 } }, apps: \(apps)\(rest) }\n"
  }

  @Test("units, slices, control groups and files are read, and printed as the same") func read() throws {
    let list = "[transmission.service, \"work-lab.slice\", \"cgroup:/machine.slice/x.scope\", /usr/bin/firefox]"
    for key in ["include", "exclude"] {
      let loaded = load(policy("{ \(key): \(list) }"))
      #expect(!loaded.hasErrors, "\(loaded.report)")
      let apps = try #require(loaded.policies.tunnel(named: "t")?.apps)
      let wanted: [App] = [
        .unit("transmission.service"), .unit("work-lab.slice"), .group("/machine.slice/x.scope"), .program("/usr/bin/firefox"),
      ]
      #expect(apps == (key == "include" ? AppsPolicy(include: wanted) : AppsPolicy(exclude: wanted)))
      let text = PolicyPrinter.yaml(loaded.policies)
      let again = load(text)
      #expect(!again.hasErrors && again.policies.tunnel(named: "t")?.apps == apps, "\(again.report)\n\(text)")
    }
  }

  @Test("a rule of a tunnel for some programs says evaluate-connection without names, before or behind them, and is written so again")
  func startedByPrograms() throws {
    let tunnel = """
      version: 1
      tunnels:
        t:
          on-demand: { rules: [ { match: { interface: wifi }, action: evaluate-connection }, { action: disconnect } ] }
          provider: { wireguard: { config: corp.conf } }
          apps: { include: [a.service] }
        u: { provider: { command: { up: [/u], down: [/d] } }, on-demand: { rules: [ { action: connect } ] } }

      """
    let loaded = load(tunnel)
    #expect(!loaded.hasErrors, "\(loaded.report)")
    let rules = try #require(loaded.policies.tunnel(named: "t")?.onDemand.rules)
    #expect(rules.map(\.action) == [.evaluateConnection, .disconnect] && rules.allSatisfy(\.connections.isEmpty))
    let again = load(PolicyPrinter.yaml(loaded.policies))
    #expect(!again.hasErrors && again.policies.withoutPlaces == loaded.policies.withoutPlaces, "\(again.report)")
  }

  @Test(
    "each mistake is said with its cure",
    arguments: [
      ("{ include: [firefox] }", "", "found \"firefox\"", "write its suffix (`firefox.service`), or the path of its file"),
      ("{ include: [bin/firefox] }", "", "found \"bin/firefox\"", "a path begins with `/`"),
      ("{ include: [firefox.desktop] }", "", "found \"firefox.desktop\"", "start it by `roamward run`"),
      ("{ include: [a.socket] }", "", "found \"a.socket\"", "only a service, a scope or a slice has programs"),
      ("{ include: [\"cgroup:/\"] }", "", "found \"cgroup:/\"", "a path begins with `/`"),
      ("{ include: [\"cgroup:/a/../b\"] }", "", "found \"cgroup:/a/../b\"", "a path begins with `/`"),
      ("{ include: [a.service], exclude: [b.service] }", "", "`include` and `exclude` exclude one another", "keep `include`"),
      ("{ include: [a.service] }", ", kill-switch: always", "`kill-switch` has no meaning beside `apps: include`", "remove `kill-switch`"),
      ("{ include: [a.service] }", ", include-all-networks: true", "`include-all-networks` has no meaning", "remove"),
      ("{ include: [a.service] }", ", routes: { include: 10.0.0.0/8 }", "`routes: include` has no meaning", "remove"),
      (
        "{ include: [a.service] }",
        ", on-demand: { rules: [ { action: evaluate-connection, connections: [ { domains: a.example, action: connect-always } ] } ] }",
        "`connections` has no meaning beside `apps: include`: the first packet of these programs starts the tunnel", "remove `connections`"
      ),
      (
        "{ include: [a.service] }", ", on-demand: { rules: [ { action: evaluate-connection } ] }",
        "the first packet of these programs start the tunnel, and only a WireGuard tunnel waits for its first packet",
        "use `action: connect`"
      ),
      (
        "{ exclude: [a.service] }", ", on-demand: { rules: [ { action: evaluate-connection } ] }",
        "`evaluate-connection` needs `connections`, which say what a look-up does", "for example: connections"
      ),
      ("{ includes: [a.service] }", "", "unknown key \"includes\"", "did you mean `include`?"),
    ])
  func mistakes(apps: String, rest: String, message: String, help: String) {
    let report = load(policy(apps, rest)).report
    #expect(report.contains(message) && report.contains(help), "\(report)")
    // One cause, one message.
    if apps == "{ include: [firefox] }" {
      let more = load(policy(apps, ", on-demand: { rules: [ { action: evaluate-connection } ] }")).report
      #expect(more.contains(message) && !more.contains("needs `connections`"), "\(more)")
    }
  }
}
