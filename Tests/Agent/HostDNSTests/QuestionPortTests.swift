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

  @Test("fewer sockets than there should be are told, with the reason; no sockets of a family that is not there are not")
  func shortage() throws {
    final class Maker { var left = [IPAddress.Family.v4: 1000, .v6: 1000] }
    let maker = Maker()
    var code = EMFILE
    var sockets = QuestionSockets { family, _ throws(SystemError) in
      guard maker.left[family, default: 0] > 0 else { throw SystemError(code: code, operation: "make a socket") }
      maker.left[family, default: 0] -= 1
      return FileDescriptor(owning: dup(0))
    }
    func orders(on place: String) throws(SystemError) -> Int {
      let orders = try sockets.renew(for: NameServerSettings(place: place))
      return orders.count
    }
    #expect(try orders(on: "home") == 2 * (2 * 64 + 1) && sockets.shortage == nil)
    maker.left = [.v4: 1000, .v6: 0]
    code = EAFNOSUPPORT
    #expect(try orders(on: "cafe") == 2 * (64 + 1) && sockets.shortage == nil)
    maker.left = [.v4: 64 + 12, .v6: 1000]
    code = EMFILE
    #expect(try orders(on: "mobile") == 2 * (2 * 64 + 1) - 52)
    #expect(sockets.shortage?.hasPrefix("roamward-names asks name servers by 12 sockets of IPv4 instead of 64") == true)
    #expect(sockets.shortage?.contains("Too many open files") == true, "\(sockets.shortage ?? "")")
    maker.left = [.v4: 1000, .v6: 1000]
    #expect(try orders(on: "home") > 0 && sockets.shortage == nil, "it is over on the next network")
  }

  @Test("a taken port for captured questions is an error in each family", .enabled(if: canMakeNamespaces, "no namespaces here"))
  func taken() throws {
    for taken in ["0.0.0.0", "::"] {
      let failure: SystemError? = try inNamespaces {
        let any = try #require(IPAddress(taken))
        let other = try NameServerSockets.listener(any, port: NameCapture.port, isStream: false)
        defer { withExtendedLifetime(other) {} }
        var captured = CapturedQuestions()
        var settings = NameServerSettings()
        settings.capture = NameCapture()
        do throws(SystemError) { try captured.change(to: settings) } catch { return error }
        return nil
      }
      #expect(failure?.code == EADDRINUSE, "\(taken)")
    }
  }
}
