import Glibc
import KernelModel
import LinuxIO
import NetworkTypes
import SeededRandom
import TestSupport
import Testing

@testable import HostDNS

@Suite("Ports of our name server's sockets")
struct QuestionPortTests {
  @Test("questions never take the port of captured ones, nor WireGuard's, and all others are drawn alike")
  func drawn() {
    var generator = SplitMix64(seed: 20_953)
    var counts = [Int](repeating: 0, count: 65_536)
    for _ in 0..<2_000_000 { counts[Int(QuestionPort.random(using: &generator))] += 1 }
    for port in QuestionPort.avoided { #expect(counts[Int(port)] == 0) }
    #expect(QuestionPort.avoided.contains(NameCapture.port))
    #expect(counts[..<10_000].allSatisfy { $0 == 0 })
    let others = counts.indices[10_000...].filter { !QuestionPort.avoided.contains(UInt16($0)) }.map { counts[$0] }
    // 36 on average: Poisson.
    #expect(others.allSatisfy { (5...90).contains($0) })
  }

  @Test("a taken port for captured questions is an error in each family", .enabled(if: canMakeNamespaces, "no namespaces here"))
  func taken() throws {
    for taken in ["0.0.0.0", "::"] {
      let failure: SystemError? = try inNamespaces {
        let any = try #require(IPAddress(taken))
        let other = try NameServerSockets.listener(any, port: NameCapture.port, isStream: false)
        defer { withExtendedLifetime(other) {} }
        var captured = CapturedQuestions()
        do throws(SystemError) { _ = try captured.change(to: NameCapture()) } catch { return error }
        return nil
      }
      #expect(failure?.code == EADDRINUSE, "\(taken)")
    }
  }
}
