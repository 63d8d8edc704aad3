import Glibc
import Testing

/// Programs that ask for names, each with a resolver of its own.
enum Client: String, CaseIterable {
  /// The C library, by `getent`.
  case glibc
  /// A page by way of a name.
  case curl
  /// A static program with musl's `getaddrinfo`.
  case musl
  /// A static program with Go's own resolver.
  case go
  /// A program with c-ares.
  case ares
  /// A headless browser, with its own resolver.
  case chromium

  /// The tool that it needs, and the Debian package of it.
  private var tool: (path: String, package: String) {
    switch self {
    case .glibc: ("/usr/bin/getent", "libc-bin")
    case .curl: ("/usr/bin/curl", "curl")
    case .musl: ("/usr/bin/musl-gcc", "musl-tools")
    case .go: ("/usr/bin/go", "golang-go")
    case .ares: ("/usr/include/ares.h", "libc-ares-dev")
    case .chromium: ("/usr/bin/chromium", "chromium")
    }
  }

  var isPresent: Bool { access(tool.path, R_OK) == 0 }

  var absence: Comment { "there is no \(tool.path): the package \(tool.package) is not installed (scripts/setup --vm)" }

  static var present: [Client] { allCases.filter(\.isPresent) }

  /// The last word of what it says when all is well.
  var success: String {
    switch self {
    case .curl, .chromium: "Welcome to the intranet."
    default: "10.77.0.1"
    }
  }
}

extension Trait where Self == ConditionTrait {
  /// A client that is not installed leaves out its own case alone.
  static func needs(_ client: Client) -> Self { .enabled(if: client.isPresent, client.absence) }
}

/// The company's tunnel, which takes everything and so cannot be armed: look-ups of its names start it.
private let corpByLookups = """
  version: 1
  tunnels:
    corp:
      provider: { wireguard: { config: corp.conf } }
      on-demand:
        timing: { release-delay: 0s }
        rules:
          - action: evaluate-connection
            connections: [ { domains: [corp.example], action: connect-always } ]
      routes: { include: [default] }
      dns: { servers: [10.77.0.1], match-domains: [corp.example] }

  """

/// One scene in which all clients ask while their tunnel comes up after 0.1 s, 2 s, 4 s, and never.
private struct Table: CustomStringConvertible {
  struct Answer {
    /// Milliseconds, with the start of the client.
    let time: Int
    let words: String
  }

  /// By client and stage: `musl two`.
  private(set) var answers: [String: Answer] = [:]
  /// The other lines of the scene.
  private(set) var rest: [String] = []
  /// All of it.
  let description: String

  static let made = Result { try Table() }

  private init() throws {
    let atOnce = Client.present.filter { $0 != .chromium }.map(\.rawValue).joined(separator: " ")
    let scene = try Scene(["corp.yaml": corpByLookups], words: ["names.bash", "clients.bash"])
    let seen = try scene.play(
      "Client/table", with: ["AT_ONCE": atOnce, "WITH_CHROMIUM": Client.chromium.isPresent ? "yes" : ""])
    description = seen
    for line in seen.lines {
      let parts = line.split(separator: " ", maxSplits: 3).map(String.init)
      if !line.hasPrefix("["), parts.count == 4, let time = Int(parts[2]) {
        answers["\(parts[0]) \(parts[1])"] = Answer(time: time, words: parts[3])
      } else {
        rest.append(line)
      }
    }
    print("Clients:\n\(seen)")
  }
}

@Suite("Programs whose look-ups start a tunnel", .needsLab, .serialized)
struct ClientScenes {
  /// Its look-ups wait for the tunnel, and fail in the end if it never comes.
  private func expect(_ client: Client, at stages: [(name: String, tunnel: Int)]) throws {
    try #require(client.isPresent, client.absence)
    let table = try Table.made.get()
    for stage in stages {
      let answer = try #require(table.answers["\(client.rawValue) \(stage.name)"], "\(table.description)")
      #expect(answer.words == client.success && answer.time >= stage.tunnel, "\(stage.name): \(answer)")
    }
    let never = try #require(table.answers["\(client.rawValue) never"], "\(table.description)")
    // The browser asks last, when the start may have failed already.
    #expect(never.words != client.success && (never.time >= 4400 || client == .chromium), "never: \(never)")
  }

  private let all: [(name: String, tunnel: Int)] = [("tenth", 100), ("two", 1900), ("four", 3700)]

  @Test("a question is answered when the tunnel is there, and after 4.5 seconds without one it fails", .needs(.glibc)) func raw() throws {
    let table = try Table.made.get()
    for stage in all {
      let answer = try #require(table.answers["raw \(stage.name)"], "\(table.description)")
      #expect(answer.words == "10.77.0.1" && answer.time >= stage.tunnel && answer.time < 5000, "\(stage.name): \(answer)")
    }
    let failures = (1...4).compactMap { table.answers["raw\($0) never"] }
    #expect(failures.count == 4 && failures.allSatisfy { $0.words == "SERVFAIL" && $0.time >= 4400 && $0.time < 5000 }, "\(failures)")
    // The machine may be busy at the end of one of them.
    #expect(failures.map(\.time).min().map { $0 <= 4600 } == true, "\(failures)")
    #expect(table.rest == ["[tenth connected]", "[two connected]", "[four connected]", "[never connecting]", "[outside 0]"])
  }

  @Test("glibc", .needs(.glibc)) func glibc() throws { try expect(.glibc, at: all) }
  @Test("curl, which fetches a page through the tunnel", .needs(.curl)) func curl() throws { try expect(.curl, at: all) }
  @Test("musl, in a static program", .needs(.musl)) func musl() throws { try expect(.musl, at: all) }
  @Test("Go, in a static program", .needs(.go)) func go() throws { try expect(.go, at: all) }
  @Test("c-ares", .needs(.ares)) func ares() throws { try expect(.ares, at: all) }
  @Test("a headless Chromium, which shows a page of the tunnel", .needs(.chromium)) func chromium() throws {
    try expect(.chromium, at: [("two", 1900)])
  }
}
