import HostProbes
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

/// Against `openssl s_server`, in a network namespace.
@Suite("A probe by https", .enabled(if: canMakeNamespaces, "no namespaces here"))
struct SecureProbeTests {
  private let folder: TemporaryFolder
  private let pin: String

  init() throws {
    folder = try TemporaryFolder()
    let path = folder.path
    try shell(
      """
      cd \(path)
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out cert -days 2 -subj /CN=beacon.example \
        -addext subjectAltName=DNS:beacon.example 2>/dev/null
      """)
    pin =
      "sha256//"
      + (try shell(
        "openssl x509 -in \(path)/cert -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64"
      ).filter { !$0.isNewline })
  }

  private func probe(_ name: String = "beacon.example", pins: [String] = [], options: [String] = []) throws -> ProbeReply {
    try onLoop { loop, done in
      let arguments = [
        "openssl", "s_server", "-www", "-accept", "4433", "-key", "\(folder.path)/key", "-cert", "\(folder.path)/cert", "-quiet",
      ]
      let server = try ChildProcess(arguments + options, timeout: .seconds(20), on: loop) { _ in }
      try shell("for i in $(seq 200); do ss -Hltn 'sport = :4433' | grep -q . && break; sleep 0.02; done")
      let bench = try ProbeBench(on: loop, names: [try #require(IPAddress("127.0.0.1"))])
      let run = bench.runner.run(ProbeRequest(url: "https://\(name):4433/", pins: pins), by: bench.passage, then: done)
      return (server, bench, run)
    }
  }

  @Test("a certificate of nobody known is an impostor's, unless its key is pinned")
  func pinned() throws {
    try inNamespaces {
      guard case .impostor(let reason) = try probe() else { return #expect(Bool(false), "it believed a self-signed certificate") }
      #expect(reason.contains("certificate"))
      #expect(try probe(pins: [pin]) == .response(status: 200))
      let wrong = "sha256//" + String(repeating: "A", count: 43) + "="
      #expect(try probe(pins: [wrong, pin]) == .response(status: 200), "one of several is enough")
      guard case .impostor(let other) = try probe(pins: [wrong]) else { return #expect(Bool(false), "it believed another key") }
      #expect(other.contains("pinned"))
      // The key is what counts: by another name it is the same server.
      #expect(try probe("office.example", pins: [pin]) == .response(status: 200))
    }
  }

  @Test("without a pin the system's store decides, and the name has to be right")
  func verified() throws {
    try inNamespaces(mounts: true) {
      try bind("\(folder.path)/cert", over: "/etc/ssl/certs/ca-certificates.crt")
      #expect(try probe() == .response(status: 200))
      guard case .impostor = try probe("office.example") else { return #expect(Bool(false), "it believed another name's certificate") }
      let wrong = "sha256//" + String(repeating: "A", count: 43) + "="
      guard case .impostor = try probe(pins: [wrong]) else { return #expect(Bool(false), "a known certificate stood in for the pin") }
    }
  }

  @Test("versions of TLS that are broken are not spoken, pinned or not")
  func oldVersions() throws {
    try inNamespaces {
      let reply = try probe(pins: [pin], options: ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"])
      guard case .unanswered = reply else { return #expect(Bool(false), "\(reply)") }
      #expect(try probe(pins: [pin], options: ["-tls1_2"]) == .response(status: 200))
    }
  }
}
