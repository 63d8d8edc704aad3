import Testing

@Suite("One of several tunnels", .needsLab)
struct OneOfSeveralTests {
  private static func tunnel(_ name: String) -> String {
    "  \(name):\n    provider: { wireguard: { config: \(name).conf } }\n"
  }

  private let policy =
    "version: 1\ntunnels:\n" + ["paris", "lyon", "tcp"].map(tunnel).joined() + """
      groups:
        work:
          one-of: [paris, lyon, tcp]
          kill-switch: "on"
          on-demand: { rules: [ { action: connect } ] }

      """

  @Test("gives way to the next within 60 s when its gateway is silent, and comes back; nothing leaks between") func givesWay() throws {
    let scene = try Scene(["corp.yaml": policy])
    let seen = try scene.play("OneOfSeveral/gives-way")
    #expect(
      seen.lines == [
        "[watched]", "[connected]", "[10.77.0.2 1]", "[standby disconnected []]", "[10.88.0.2 1]", "[standby disconnected]",
        #"["work","paris","standby","disconnected",true,"lyon","in-use","connected",false,"tcp","standby","disconnected",false]"#,
        #"roamward_group_in_use{group="work",tunnel="paris"} 0"#, #"roamward_group_in_use{group="work",tunnel="lyon"} 1"#,
        #"roamward_group_in_use{group="work",tunnel="tcp"} 0"#,
        "paris connect rule 1 always corp.yaml:13", " not acted on: its group work uses lyon",
        "group work, in the order of its list: paris stands by, lyon is in use, tcp stands by", "[evaluate 10]",
        "note: group work uses lyon; it tries paris again", "[10.89.0.2 1]", "[10.77.0.2 1]", "[nothing in clear]",
        "[disconnected disconnected]", "[disconnected]", "[disconnected connected]", "lyon: connect", "  not acted on: standby paris",
        "paris: connect", "tcp: connect", "  not acted on: standby paris", "0",
      ])
  }
}
