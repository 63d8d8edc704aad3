import Testing

/// The company's tunnel with these rules, in one line. The lab's home is the office.
private func policy(_ rules: String, timing: String = "release-delay: 0s") -> String {
  """
  version: 1
  tunnels:
    corp:
      class: enterprise
      provider: { wireguard: { config: corp.conf } }
      on-demand:
        timing: { \(timing) }
        rules: [ \(rules) ]
      routes: { include: [10.77.0.0/16] }

  """
}

/// A beacon with a certificate that it made itself, and the office's DNS server, which knows it. `$pin` is its key's.
private let beacon = """
  open_beacon() {
    local folder=$scene/$1
    mkdir "$folder"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$folder/key" -out "$folder/cert" -days 2 -subj /CN=beacon 2>/dev/null
    on "$2" openssl s_server -quiet -www -accept 443 -key "$folder/key" -cert "$folder/cert" </dev/null >"$folder/log" 2>&1 &
    within 5 on "$2" sh -c "ss -Hltn 'sport = :443' | grep -q ."
    pin=sha256//$(openssl x509 -in "$folder/cert" -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64)
  }
  know_beacon() {
    local place=$1 address=$2 server
    server=$(on "$place" ss -Hlunp 'sport = :53' | grep -o 'pid=[0-9]*' | head -n 1)
    kill "${server#pid=}" && within 2 not kill -0 "${server#pid=}"
    on "$place" dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --interface=lan0 --pid-file= \
      --host-record="beacon.corp.example,$address" --server=203.0.113.53 --log-queries --log-facility="$scene/dns-$place.log"
  }

  """

@Suite("Probes", .needsLab)
struct ProbeTests {
  /// Its pin is nobody's yet.
  private static let office = policy(
    """
    { match: { probe: { url: "https://beacon.corp.example/", pin: "sha256//\(String(repeating: "A", count: 43))=", timeout: 5s } }, \
    action: disconnect }, { action: connect }
    """)

  @Test("the office's beacon takes the tunnel down there, and it comes up elsewhere; an impostor's does not")
  func officeBeacon() throws {
    let scene = try Scene([:])
    try scene.write("policies/corp.yaml", Self.office)
    let seen = try scene.play("Probe/office-beacon")
    let lines = seen.lines
    #expect(
      lines.filter { $0.hasPrefix("[") && !$0.hasPrefix("[asked") }.map { $0.prefix { $0 != "]" } } == ["[disconnected", "[fail", "[fail"])
    #expect(
      lines.contains {
        $0.contains("beacon.corp.example/") && $0.contains(": ok, answered 200") && $0.contains("repeated when the network changes")
      })
    #expect(lines.contains { $0.hasPrefix("probe ") && $0.contains(": ok, answered 200") })
    #expect(lines.contains { $0.hasPrefix("corp") && $0.contains("disconnect") }, "a dry run knows what the agent knows")
    #expect(seen.contains("does not match pinned public key"))
  }

  @Test("a captive portal that opens is noticed, and the tunnel comes up by itself")
  func portalOpens() throws {
    let scene = try Scene([
      "corp.yaml": policy(
        "{ match: { captive-portal: true }, action: disconnect }, { match: { internet: true }, action: connect }, { action: ignore }")
    ])
    let seen = try scene.play("Probe/portal-opens")
    let lines = seen.lines
    let words = lines.filter { $0.hasPrefix("internet") }.map { $0.dropFirst("internet".count).drop { $0 == " " } }
    #expect(words.map { $0.hasPrefix("behind a captive portal") } == [true, false] && words.map { $0.hasPrefix("yes") } == [false, true])
    #expect(lines.contains { $0.contains("connectivity check http://www.example/: closed, answered 200") && $0.contains("repeated in") })
    #expect(lines.contains("[disconnected]"))
  }

  @Test("without a policy that asks nothing is sent and no process is there for it; with one it is, and the agent itself reads nothing")
  func lazy() throws {
    let scene = try Scene([
      "corp.yaml": policy("{ match: { ssid: Cafe }, action: connect }, { match: { internet: true }, action: connect }")
    ])
    let seen = try scene.play("Probe/lazy")
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[no helper]", "[agent 0]", "[helper loaded]", "[nothing left]"])
  }

  @Test("where the program is not installed the facts are unknown, `status` and `doctor` say why and what helps, and the agent runs on")
  func missingProgram() throws {
    let rules = "{ match: { internet: true }, action: connect }, { action: ignore }"
    let scene = try Scene(["corp.yaml": policy(rules, timing: "decide-within: 1h")])
    let seen = try scene.play("Probe/missing-program")
    #expect(seen.contains("cure: install the package roamward, or the program in PATH"), "\(seen)")
    #expect(seen.lines.contains { $0.hasPrefix("problem  gateway names cannot be resolved") && $0.contains("[probe-helper]") }, "\(seen)")
    #expect(seen.lines.contains("[disconnected]"))
    #expect(seen.lines.last == "0")
  }
}
