import JSON
import LinuxIO
import SchemaCheck
import Testing

/// What programs are given is what docs/schema promises them, while much is going on.
@Suite("The published schemas", .needsLab)
struct SchemaTests {
  private static let root = Lab.root

  /// The places where a document breaks its schema.
  private func violations(of text: String, _ schema: String) throws -> [String] {
    let schema = try JSON(parsing: try TextFile.read("\(Self.root)/docs/schema/\(schema).schema.json"))
    return SchemaCheck.violations(of: schema, in: try JSON(parsing: text.utf8))
  }

  @Test("what status, monitor, evaluate, plan, state, list and doctor print is as their schemas say")
  func output() throws {
    let scene = try Scene()
    try scene.run(
      """
      go home
      start_agent
      roamward monitor --json >events &
      # A policy that is read again is told of.
      listen() { touch $policies/corp.yaml; sleep 0.1; test -s events; }
      within 5 listen
      roamward status --json >status-1.json
      go cafe
      tunnel_is corp connected
      roamward status --json >status-2.json
      roamward down corp --for 90s --reason printer >/dev/null
      tunnel_is corp disconnected
      roamward status --json >status-3.json
      dry plan --json >plan-1.json
      roamward resume corp >/dev/null
      tunnel_is corp connected
      echo 'nonsense: [' >$policies/zz.yaml
      within 5 eval '[[ $(roamward status --json | jq ".policy.problems | length") != 0 ]]'
      roamward status --json >status-4.json
      roamward list --policies $policies --json >list-1.json
      rm $policies/zz.yaml
      dry evaluate --json >evaluate-1.json
      dry evaluate --json --set ssid=unknown --host www.example.com >evaluate-2.json || true
      dry evaluate --json --set 'interface=unknown()' >evaluate-3.json || true
      roamward state --json --resolv-conf $laptop/resolv.conf --state-dir $scene/state >state-1.json
      dry doctor --json >doctor-1.json || true
      go home
      tunnel_is corp disconnected
      dry plan --up corp --json >plan-2.json
      within 5 grep -q '"to":"disconnected"' events
      kill_agent
      roamward state --json --resolv-conf $laptop/resolv.conf --state-dir $scene/state >state-2.json
      """, limit: 240)
    let names = [
      "status-1", "status-2", "status-3", "status-4", "plan-1", "plan-2", "evaluate-1", "evaluate-2", "evaluate-3", "state-1", "state-2",
      "list-1", "doctor-1",
    ]
    for name in names {
      #expect(try violations(of: scene.read("\(name).json"), String(name.prefix { $0 != "-" })) == [], "\(name)")
    }
    let events = scene.read("events").lines
    #expect(events.count > 10)
    for event in events { #expect(try violations(of: event, "monitor") == [], "\(event)") }
    let tunnel = try JSON(parsing: scene.read("status-3.json").utf8)["tunnels"]?.array?.first
    #expect(
      tunnel?["override"] == "down" && tunnel?["override-lifetime"] == "time" && tunnel?["override-reason"] == "printer"
        && tunnel?["code"] == "manual-override"
    )
  }

  @Test("times are precise to the millisecond, and the clock's")
  func times() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go home
      start_agent
      for _ in {1..20}; do
        before=$(date +%s%3N)
        time=$(roamward status --json | jq -r .time)
        after=$(date +%s%3N)
        now=$(date --date "$time" +%s%3N)
        ((before <= now && now <= after)) || say "$before $now $after"
        echo "${time: -4:3}" >>fractions
      done
      """)
    #expect(seen.lines.filter { $0.hasPrefix("[") } == [])
    #expect(Set(scene.read("fractions").lines).count > 2, "no clock shows the same milliseconds twenty times")
  }
}
