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
    let seen = try scene.play("Socket/access", with: ["SOMEBODY": somebody])
    #expect(seen.lines[0] == "connected")
    let words =
      "roamward: user 65534 is not in the group roamward, which decides because polkit does not run (there is no system bus); "
      + "add the user with `usermod --append --groups roamward NAME` and log in again, or run it with sudo"
    #expect(seen.lines.dropFirst() == [words, "[1]", words, "[1]", words, "[1]", "[connected null]", "[waiting is looking]"])
  }

  @Test("bears a thousand connections, half frames, long frames and garbage")
  func abuse() throws {
    let scene = try Scene()
    try scene.play("Socket/abuse")
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
      let seen = try scene.play("Socket/abuse-2")
      #expect(seen == "connected")
      withExtendedLifetime(connections) {}
    }
    let seen = try scene.play("Socket/abuse-3")
    #expect(try #require(Int(seen.lines[0])) < 40, "descriptors are given back")
    #expect(try #require(Int(seen.lines[1])) < 100_000, "kB of memory")
  }

  @Test("waits for a client that reads slowly, and then tells it all the rest")
  func slowReader() throws {
    let scene = try Scene()
    try scene.play("Socket/slow-reader")
    let connection = try FileDescriptor.connect(to: "\(scene.folder)/agent.socket", nonBlocking: true)
    // More answers than the kernel keeps for a socket, all asked for before the first is read.
    let count = 500
    let questions = Array(String(repeating: "{\"version\":2,\"request\":{\"status\":{}}}\n", count: count).utf8)
    #expect(try connection.write(questions[...]) == questions.count)
    let seen = try scene.play("Socket/slow-reader-2")
    #expect(try #require(Int(seen)) * count > 400_000, "bytes that wait")
    var lines = 0
    let end = Moment.now + .seconds(600)
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
    let seen = try scene.play("Socket/crowd", with: ["SOMEBODY": somebody])
    #expect(try #require(Int(seen.lines[0].filter(\.isNumber))) > 10)
    #expect(seen.contains("corp: manual override (down)"))
  }

  @Test("and the state folder are one agent's: a second one is refused, and the first unharmed")
  func secondAgent() throws {
    let scene = try Scene()
    let seen = try scene.play("Socket/second-agent")
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[1]", "[1]", "[1]", "[1]", "[1]", "[1]", "[connected]"])
    #expect(seen.lines.filter { $0.contains("another agent uses this state folder") }.count == 2)
    #expect(seen.lines.filter { $0.contains("another agent (process ") && $0.contains("runs in this network namespace") }.count == 4)
  }

  @Test("is of no use to an ordinary user's agent: it ends at once, and says what is missing", .enabled(if: geteuid() == 0))
  func ordinaryUser() throws {
    let scene = try Scene()
    let seen = try scene.play("Socket/ordinary-user", with: ["SOMEBODY": somebody])
    #expect(seen.lines.filter { $0.hasPrefix("[") } == Array(repeating: "[77]", count: 5))
    #expect(seen.lines.filter { $0.contains("CAP_NET_ADMIN is missing") }.count == 5)
    #expect(seen.lines.count == 10 && !seen.contains("nftables"))
  }
}
