import CConfined
import FlowRelay
import Glibc
import ProcessConfinement
import Testing

/// The promises about a compromised proxy (docs/security-processes.md), tried on a process that has confined itself by its filter.
@Suite("Confinement of the process for flows")
struct SocksConfinementTests {
  /// Compiled before anything forks. No process of the test has the number 0.
  private static let filter = try? SystemCallFilter(SocksFilter.rules(process: 0))

  /// The attempts that clients, destinations and name servers need.
  private static let needed: Set<String> = [
    "a UDP socket", "a UDP socket of IPv6", "a TCP socket", "connect", "bind", "accept", "openat", "sendto another address",
    "sendmsg to another address",
  ]

  @Test("refuses what a program that has been taken over would try", arguments: 0..<cconfined_count())
  func attempt(number: Int32) throws {
    _ = try #require(Self.filter)
    let name = String(cString: cconfined_name(number))
    let free = cconfined_try(number, nil)
    let confined = cconfined_try(number) { SocksConfinementTests.filter?.load() ?? EINVAL }
    if Self.needed.contains(name) { #expect(free == CCONFINED_DONE, "\(name), unconfined: \(free)") }
    let expected = name.hasPrefix("the numbers of") ? Int32(CCONFINED_KILLED) : Self.needed.contains(name) ? Int32(CCONFINED_DONE) : EPERM
    #expect(confined == expected, "\(name): \(confined); unconfined: \(free)")
  }

  @Test("every attempt that it allows is there") func names() {
    let names = Set((0..<cconfined_count()).map { String(cString: cconfined_name($0)) })
    #expect(Self.needed.subtracting(names) == [])
  }
}
