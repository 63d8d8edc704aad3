import Glibc
import JSON
import LinuxIO
import SchemaCheck
import Testing

/// The output for programs follows the schemas in docs/schema, also under load.
@Suite("The published schemas", .needsLab)
struct SchemaTests {
  private static let root = Lab.root

  /// The commands with `--json`, as the program declares them.
  private static func commandsWithJSON(of program: String = "roamward") throws -> Set<String> {
    guard let stream = popen("'\(Lab.programs)/\(program)' --experimental-dump-help", "re") else { return [] }
    var bytes: [UInt8] = []
    while case let byte = fgetc(stream), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
    pclose(stream)
    var found: Set<String> = []
    func gather(_ command: JSON, _ path: [String]) {
      let names = (command["arguments"]?.array ?? []).flatMap { $0["names"]?.array ?? [] }
      if names.contains(where: { $0["name"] == "json" }) { found.insert(path.joined(separator: " ")) }
      for other in command["subcommands"]?.array ?? [] { gather(other, path + [other["commandName"]?.string ?? ""]) }
    }
    gather(try JSON(parsing: bytes)["command"] ?? .null, [])
    return found
  }

  /// The schema whose title names the command.
  private static func schema(of command: String, in program: String = "roamward") throws -> JSON? {
    let folder = "\(root)/docs/schema"
    return try Folder.names(in: folder).map { try JSON(parsing: try TextFile.read("\(folder)/\($0)")) }
      .first { $0["title"]?.string?.contains("`\(program) \(command) --json`") ?? false }
  }

  @Test("every command with --json has a schema", arguments: ["roamward", "roamward-gateway"]) func commands(of program: String) throws {
    let commands = try Self.commandsWithJSON(of: program)
    #expect(commands.count >= 4)
    for command in commands.sorted() { #expect(try Self.schema(of: command, in: program) != nil, "\(command)") }
  }

  @Test("what each command with --json prints is as its schema says") func output() throws {
    let scene = try Scene()
    try scene.run(
      """
      mkdir out timeline
      go home
      start_agent
      roamward monitor --json >out/monitor-1 &
      # A policy that is read again is told of.
      listen() { echo "#" >>$policies/corp.yaml; sleep 0.1; test -s out/monitor-1; }
      within 5 listen
      roamward status --json >out/status-1
      go cafe
      tunnel_is corp connected
      roamward status --json >out/status-2
      roamward network --json >out/network-1
      dry network --json >out/network-2
      dry explain corp --json >out/explain-1
      dry explain --to 10.77.0.1:443 --json >out/explain-2 || true
      dry explain --to 127.0.0.1 --json >out/explain-3
      dry explain corp --json --set ssid=Elsewhere >out/explain-4
      dry dns intranet.corp.example --json >out/dns-1
      dry dns www.example.com --ask --json >out/dns-2 || true
      dry diff --json >out/diff-1
      roamward down corp --for 90s --reason printer >/dev/null
      tunnel_is corp disconnected
      roamward status --json >out/status-3
      dry plan --json >out/plan-1
      roamward resume corp >/dev/null
      tunnel_is corp connected
      echo 'nonsense: [' >$policies/zz.yaml
      echo 'no policy' >$policies/notes.txt
      within 5 eval '[[ $(roamward status --json | jq ".policy.problems | length") != 0 ]]'
      roamward status --json >out/status-4
      roamward list --policies $policies --json >out/list-1
      roamward check $policies --json >out/check-1 || true
      rm $policies/zz.yaml
      roamward check $policies --json >out/check-2
      dry evaluate --json >out/evaluate-1
      dry evaluate --json --set ssid=unknown --host www.example.com >out/evaluate-2 || true
      dry evaluate --json --set 'interface=unknown()' >out/evaluate-3 || true
      roamward state --json --resolv-conf $laptop/resolv.conf --state-dir $scene/state >out/state-1
      dry doctor --json >out/doctor-1 || true
      roamward import "$policies/corp.conf" --name other --dry-run --json >out/import-1
      roamward import "$policies/notes.txt" "$laptop/resolv.conf" --dry-run --json >out/import-2 || true
      roamward import "$lab_root/Tests/CommandLine/PolicyImportTests/Fixtures/trusted-office.mobileconfig" --dry-run --json >out/import-3 || true
      cat >timeline/day.yaml <<'END'
      version: 1
      start: mon 08:00
      steps:
        - { at: 0s, network: { version: 1, links: { eth0: { type: ethernet } }, primary: eth0 } }
        - { at: 1m, network: { version: 1, links: { wlan0: { type: wifi, ssid: Cafe } }, primary: wlan0 } }
        - { at: 2m, down: corp, for: 1m, reason: the printer }
        - { at: 5m, network: none }
      END
      roamward simulate timeline/day.yaml --policies "$policies" --json >out/simulate-1
      go home
      tunnel_is corp disconnected
      dry plan --up corp --json >out/plan-2
      within 5 grep -q '"to":"disconnected"' out/monitor-1
      kill_agent
      roamward state --json --resolv-conf $laptop/resolv.conf --state-dir $scene/state >out/state-2
      go cafe
      dry diff --json >out/diff-2 || true
      roamward history --state-dir $scene/state --json >out/history-1
      """.replacing("$lab_root", with: Self.root), limit: 240)
    let files = Folder.names(in: "\(scene.folder)/out").sorted()
    let commands = Set(files.map { String($0.prefix { $0 != "-" }) })
    #expect(commands == (try Self.commandsWithJSON()), "a command prints nothing here")
    for command in commands.sorted() {
      let schema = try #require(try Self.schema(of: command), "\(command)")
      for file in files where file.hasPrefix("\(command)-") {
        let text = scene.read("out/\(file)")
        let isOfLines = schema["title"]?.string?.hasPrefix("A line") ?? false
        #expect(!text.isEmpty && (!isOfLines || text.lines.count > 5), "\(file)")
        for document in isOfLines ? text.lines : [text] {
          #expect(SchemaCheck.violations(of: schema, in: try JSON(parsing: document.utf8)) == [], "\(file): \(document)")
        }
      }
    }
    let tunnel = try JSON(parsing: scene.read("out/status-3").utf8)["tunnels"]?.array?.first
    #expect(
      tunnel?["override"] == "down" && tunnel?["override-lifetime"] == "time" && tunnel?["override-reason"] == "printer"
        && tunnel?["code"] == "manual-override"
    )
    let differences = try JSON(parsing: scene.read("out/diff-2").utf8)["differences"]?.array
    #expect(differences?.isEmpty == false)
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
