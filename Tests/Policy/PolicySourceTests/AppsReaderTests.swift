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
      ("{ includes: [a.service] }", "", "unknown key \"includes\"", "did you mean `include`?"),
    ])
  func mistakes(apps: String, rest: String, message: String, help: String) {
    let report = load(policy(apps, rest)).report
    #expect(report.contains(message) && report.contains(help), "\(report)")
  }
}
