import Glibc
import LinuxIO
import NetworkTypes
import Testing

@Suite("The local socket", .needsLab)
struct SocketTests {
  private let somebody = "setpriv --reuid 65534 --regid 65534 --clear-groups"

  @Test(
    "shows everybody the status and lets none but root and the group change anything",
    .enabled(if: geteuid() == 0, "other users are root's to become"))
  func access() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      cp $bin/roamward .
      go cafe
      start_agent
      tunnel_is corp connected
      \(somebody) ./roamward status --json | jq -r '.tunnels[0].state'
      for command in 'down corp' 'up corp' 'resume corp'; do \(somebody) ./roamward $command 2>&1 || say "$?"; done
      sleep 0.3
      say "$(field corp state) $(field corp override)"
      \(somebody) ./roamward wait corp --timeout 20s && say "waiting is looking"
      """)
    #expect(seen.lines[0] == "connected")
    let words =
      "roamward: user 65534 is not in the group roamward, which decides because polkit does not run (there is no system bus); "
      + "add the user with `usermod --append --groups roamward NAME` and log in again, or run it with sudo"
    #expect(seen.lines.dropFirst() == [words, "[1]", words, "[1]", words, "[1]", "[connected null]", "[waiting is looking]"])
  }

  @Test("bears a thousand connections, half frames, long frames and garbage")
  func abuse() throws {
    let scene = try Scene()
    try scene.run("go cafe; start_agent; tunnel_is corp connected")
    let socket = "\(scene.folder)/agent.socket"
    for _ in 0..<4 {
      var connections: [FileDescriptor] = []
      for i in 0..<250 {
        // That waits for room in the agent's queue, which takes 64, as clients do.
        let connection = try FileDescriptor.connect(to: socket)
        #expect(fcntl(connection.number, F_SETFL, O_NONBLOCK) == 0)
        let text = ["{\"version\":2,", "", "\u{0}\n", "{}\n[]\n", String(repeating: "x", count: 70_000)][i % 5]
        _ = try? connection.write(Array(text.utf8)[...])
        connections.append(connection)
      }
      let seen = try scene.run("roamward status --json | jq -r '.tunnels[0].state'")
      #expect(seen == "connected")
      withExtendedLifetime(connections) {}
    }
    let seen = try scene.run(
      """
      within 2 eval '(( $(ls /proc/$(agent_pid)/fd | wc -l) < 40 ))'
      ls /proc/$(agent_pid)/fd | wc -l
      grep VmRSS /proc/$(agent_pid)/status | grep -o '[0-9]*'
      """)
    #expect(try #require(Int(seen.lines[0])) < 40, "descriptors are given back")
    #expect(try #require(Int(seen.lines[1])) < 100_000, "kB of memory")
  }

  @Test("waits for a client that reads slowly, and then tells it all the rest")
  func slowReader() throws {
    let scene = try Scene()
    try scene.run("go cafe; start_agent; tunnel_is corp connected")
    let connection = try FileDescriptor.connect(to: "\(scene.folder)/agent.socket", nonBlocking: true)
    // More answers than the kernel keeps for a socket, all asked for before the first is read.
    let count = 500
    let questions = Array(String(repeating: "{\"version\":2,\"request\":{\"status\":{}}}\n", count: count).utf8)
    #expect(try connection.write(questions[...]) == questions.count)
    let seen = try scene.run("roamward status --json | wc -c")
    #expect(try #require(Int(seen)) * count > 400_000, "bytes that wait")
    var lines = 0
    let end = Moment.now + .seconds(60)
    while lines < count, Moment.now < end {
      guard let bytes = try connection.read() else {
        usleep(10_000)
        continue
      }
      if bytes.isEmpty { break }
      lines += bytes.count { $0 == UInt8(ascii: "\n") }
    }
    #expect(lines == count)
  }

  @Test("is not taken from root by another user's many clients", .enabled(if: geteuid() == 0, "other users are root's to become"))
  func crowd() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      cp $bin/roamward .
      go cafe
      start_agent
      tunnel_is corp connected
      for _ in {1..80}; do \(somebody) ./roamward monitor >/dev/null 2>&1 & done
      connections() { ss -Hxp state connected src $ROAMWARD_SOCKET | wc -l; }
      within 2 eval '(( $(connections) > 10 ))'
      say "$(connections)"
      roamward down corp --wait 60
      """)
    #expect(try #require(Int(seen.lines[0].filter(\.isNumber))) > 10)
    #expect(seen.contains("corp: manual override (down)"))
  }

  @Test("and the state folder are one agent's: a second one is refused, and the first unharmed")
  func secondAgent() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      for options in "--state-dir state --socket other.socket" "--state-dir other --socket agent.socket" "--state-dir state --cleanup" \
          "--state-dir third --socket third.socket" "--state-dir third --socket third.socket --cleanup"; do
        timeout 60 $bin/roamwardd --policies $policies "${inputs[@]}" $options 2>&1 || say "$?"
      done
      roamward cleanup --state-dir fourth --resolv-conf $laptop/resolv.conf --socket fourth.socket 2>&1 || say "$?"
      say "$(field corp state)"
      within 2 intranet_loads
      """)
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[1]", "[1]", "[1]", "[1]", "[1]", "[1]", "[connected]"])
    #expect(seen.lines.filter { $0.contains("another agent uses this state folder") }.count == 2)
    #expect(seen.lines.filter { $0.contains("another agent (process ") && $0.contains("runs in this network namespace") }.count == 4)
  }

  @Test("is of no use to an ordinary user's agent: it ends at once, and says what is missing", .enabled(if: geteuid() == 0))
  func ordinaryUser() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      mkdir -m 777 theirs
      cp $bin/roamwardd .
      for options in "" --cleanup --lock --release; do
        timeout 30 \(somebody) ./roamwardd --policies $policies --state-dir theirs/state --socket theirs/socket $options 2>&1 && say 0 || say "$?"
      done
      timeout 30 unshare --user --map-root-user ./roamwardd --policies $policies --state-dir theirs/state --socket theirs/socket 2>&1 || say "$?"
      ls theirs
      """)
    #expect(seen.lines.filter { $0.hasPrefix("[") } == Array(repeating: "[77]", count: 5))
    #expect(seen.lines.filter { $0.contains("CAP_NET_ADMIN is missing") }.count == 5)
    #expect(seen.lines.count == 10 && !seen.contains("nftables"))
  }
}
