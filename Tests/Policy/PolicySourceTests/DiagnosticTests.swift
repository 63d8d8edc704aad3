import Glibc
import RoamwardCore
import Testing

@testable import PolicySource

@Suite struct DiagnosticTests {
  @Test("all problems are told at once, each with its line, a caret and a way out")
  func golden() {
    let loaded = load(
      """
      version: 1
      networks:
        home: { sid: Home, gateway: 192.168.7 }
      tunnels:
        corp:
          provider: { wireguard: { config: corp.conf } }
          proxy: {}
          clas: enterprise
          on-demand:
            rules:
              - match: { network: hom, probe: "https://x.example/" }
                action: conect
              - action: evaluate-connection
              - match: wifi
      	# tab
          mtu: 80
      """)
    #expect(
      loaded.report == """
        /etc/p/10.yaml:15:1: error: not valid YAML: found a tab character that violates indentation
          	# tab
          ^
          help: indent with spaces, not tabs; put quotes around a value that begins with @, ` or %
        """)
    let repaired = load(
      """
      version: 1
      networks:
        home: { sid: Home, gateway: 192.168.7 }
      tunnels:
        corp:
          provider: { wireguard: { config: corp.conf } }
          proxy: {}
          clas: enterprise
          on-demand:
            rules:
              - match: { network: hom, probe: "https://x.example/" }
                action: conect
              - action: evaluate-connection
              - match: wifi
          mtu: 80
      """)
    #expect(
      repaired.report == #"""
        /etc/p/10.yaml:3:11: error: unknown key "sid" in a network
            home: { sid: Home, gateway: 192.168.7 }
                    ^
          help: did you mean `ssid`?
        /etc/p/10.yaml:3:31: error: expected an IP address such as 192.0.2.1 or 2001:db8::1, found "192.168.7"
            home: { sid: Home, gateway: 192.168.7 }
                                        ^
        /etc/p/10.yaml:8:5: error: unknown key "clas" in a tunnel
              clas: enterprise
              ^
          help: did you mean `class`?
        /etc/p/10.yaml:11:29: error: there is no network "hom"
                  - match: { network: hom, probe: "https://x.example/" }
                                      ^
          help: did you mean `home`?
        /etc/p/10.yaml:12:19: error: expected connect, disconnect, ignore or evaluate-connection, found "conect"
                    action: conect
                            ^
          help: did you mean `connect`?
        /etc/p/10.yaml:13:19: error: `evaluate-connection` needs `connections`, which say what a look-up does
                  - action: evaluate-connection
                            ^
          help: for example: connections: [ { domains: [corp.example], action: connect-if-needed } ]
        /etc/p/10.yaml:14:11: error: `action` is missing in a rule
                  - match: wifi
                    ^
          help: expected connect, disconnect, ignore or evaluate-connection
        /etc/p/10.yaml:14:18: error: expected the criteria of a match, found "wifi"
                  - match: wifi
                           ^
          help: for example: { interface: wifi, ssid: Home }
        /etc/p/10.yaml:15:10: error: expected a number from 576 to 65535, found "80"
              mtu: 80
                   ^
        """#)
  }

  @Test("colour changes no words")
  func color() {
    let diagnostic = Diagnostic(
      .warning, "m", help: "h", at: Place(file: "f", line: 1, column: 2), excerpt: Excerpt(text: "abc", offset: 1))
    #expect(diagnostic.rendered() == "f:1:2: warning: m\n  abc\n   ^\n  help: h")
    #expect(
      diagnostic.rendered(color: true)
        == "\u{1b}[1mf:1:2:\u{1b}[0m \u{1b}[1;33mwarning:\u{1b}[0m m\n  abc\n   \u{1b}[1;32m^\u{1b}[0m\n  \u{1b}[1mhelp:\u{1b}[0m h")
  }

  @Test("the caret stands under what is meant, behind tabs and wide characters")
  func caret() {
    let source = SourceText(file: "f", bytes: Array("\t日本 x\r\ny".utf8))
    let place = Place(file: "f", line: 1, column: 5)
    #expect(source.diagnostic(.error, "m", at: place).rendered() == "f:1:5: error: m\n  \t日本 x\n  \t     ^")
    #expect(source.location(ofByte: 8) == place && source.location(ofByte: 11) == Place(file: "f", line: 2, column: 1))
  }

  @Test("of a long line only what is around the place is shown")
  func longLine() throws {
    let text = "ssid: [" + String(repeating: "a, ", count: 10_000) + "]"
    let source = SourceText(file: "f", bytes: Array(text.utf8))
    let excerpt = try #require(source.excerpt(at: Place(file: "f", line: 1, column: 20_003)))
    #expect(excerpt.text.count < 160)
    #expect(
      excerpt.text.unicodeScalars.dropFirst(excerpt.offset).prefix(3).map(String.init)
        == text.unicodeScalars.dropFirst(20_002).prefix(3).map(String.init))
  }

  @Test("nothing of a hostile file steers the terminal")
  func hostile() {
    let reports = [
      load("version: 1\n\u{1b}[2J: x\n"), load("version: 1\n\"\\e[2J\\u202e\": x\n"), load("version: 1\n\u{202e}abc: x\n"),
      MemoryFiles(["/etc/p\u{7}/10.yaml": "version: 2"]).load(["/etc/p\u{7}"]),
    ].map(\.report)
    for report in reports {
      #expect(!report.isEmpty)
      #expect(!report.unicodeScalars.contains { ($0.value < 0x20 && $0 != "\n") || $0.value == 0x202e || $0.value == 0x7f })
    }
  }

  /// Of this thread, which other processes do not delay.
  private func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  @Test("a flood of problems is cut off, quickly")
  func flood() {
    let line = "{version: 1, " + (0..<80_000).map { "k\($0): 1" }.joined(separator: ", ") + "}"
    let begin = processorTime()
    let loaded = load(line)
    #expect(loaded.hasErrors && loaded.diagnostics.count == 201 && loaded.report.utf8.count < 200_000)
    #expect(processorTime() - begin < .seconds(20))
  }

  @Test(
    "the nearest name",
    arguments: [
      ("intreface", "interface"), ("SSID", "ssid"), ("dns-servers", "dns-server"), ("gatway", "gateway"), ("zzzz", nil), ("", nil),
    ] as [(String, String?)])
  func nearestName(typed: String, meant: String?) {
    #expect(nearest(to: typed, among: ["interface", "ssid", "dns-server", "gateway", "interface-name"]) == meant)
  }
}
