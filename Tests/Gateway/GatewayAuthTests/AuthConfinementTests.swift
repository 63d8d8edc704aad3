import CConfined
import ClientProvider
import GatewayAuth
import GatewayOpenID
import GatewayPAM
import GatewayPostgreSQL
import GatewayWeb
import Glibc
import ProcessConfinement
import Testing

/// The promises about a compromised login process (docs/security-gateway.md), tried on a process that has confined itself by its filter.
@Suite("Confinement of the login's process")
struct AuthConfinementTests {
  /// These work nearly everywhere without confinement, so their failure tells something.
  private static let ordinary: Set<String> = [
    "mmap, to be written and executed", "mprotect, to be executed", "memfd_create", "execve", "clone", "a thread", "kill",
    "process_vm_readv", "F_SETOWN", "F_SETSIG", "a UDP socket", "a UDP socket of IPv6", "a TCP socket", "a netlink socket", "a unix socket",
    "socketpair", "connect", "bind", "openat", "openat, to be written", "readlink", "setuid", "personality", "PR_SET_DUMPABLE",
    "ioctl: SIOCGIFFLAGS", "SO_BINDTODEVICE", "ptrace", "seccomp", "unlink", "a raised limit",
  ]

  /// The attempts that the calls for clients allow too. Sockets of datagrams are connected, and no address leads one elsewhere.
  private static let needed: Set<String> = ["accept"]

  /// Compiled before anything forks. No process of the test has the number 0.
  private static let filter = try? SystemCallFilter(AuthFilter.rules(process: 0))

  @Test("refuses what a program that has been taken over would try", arguments: 0..<cconfined_count())
  func attempt(number: Int32) throws {
    _ = try #require(Self.filter)
    let name = String(cString: cconfined_name(number))
    let free = cconfined_try(number, nil)
    let confined = cconfined_try(number) { AuthConfinementTests.filter?.load() ?? EINVAL }
    if Self.ordinary.contains(name) { #expect(free == CCONFINED_DONE, "\(name), unconfined: \(free)") }
    switch name {
    // Numbers of another architecture end the process.
    case _ where name.hasPrefix("the numbers of"): #expect(confined == CCONFINED_KILLED, "\(name): \(confined); unconfined: \(free)")
    case _ where Self.needed.contains(name): #expect(confined == CCONFINED_DONE, "\(name): \(confined)")
    default: #expect(confined == EPERM, "\(name): \(confined); unconfined: \(free)")
    }
  }

  private static let storeFilter = try? SystemCallFilter(StoreFilter.rules(process: 0))

  @Test("so does the process with the connection to the store", arguments: 0..<cconfined_count())
  func attemptAtStore(number: Int32) throws {
    _ = try #require(Self.storeFilter)
    let name = String(cString: cconfined_name(number))
    let confined = cconfined_try(number) { AuthConfinementTests.storeFilter?.load() ?? EINVAL }
    let expected = name.hasPrefix("the numbers of") ? Int32(CCONFINED_KILLED) : EPERM
    #expect(confined == expected, "\(name): \(confined)")
  }

  private static let openIDFilter = try? SystemCallFilter(OpenIDFilter.rules(process: 0))

  /// The attempts that connections to the provider and to name servers need.
  private static let connecting: Set<String> = [
    "a UDP socket", "a UDP socket of IPv6", "a TCP socket", "connect", "sendmsg to another address",
  ]

  @Test("so does the process that talks to an OpenID provider", arguments: 0..<cconfined_count())
  func attemptAtProvider(number: Int32) throws {
    _ = try #require(Self.openIDFilter)
    let name = String(cString: cconfined_name(number))
    let confined = cconfined_try(number) { AuthConfinementTests.openIDFilter?.load() ?? EINVAL }
    let expected =
      name.hasPrefix("the numbers of") ? Int32(CCONFINED_KILLED) : Self.connecting.contains(name) ? Int32(CCONFINED_DONE) : EPERM
    #expect(confined == expected, "\(name): \(confined)")
  }

  private static let pamFilter = try? SystemCallFilter(PAMFilter.rules(process: 0))

  /// The attempts that modules need: files to read, their own code, and sockets to their services. No file in memory exists there.
  private static let asking: Set<String> = [
    "a UDP socket", "a UDP socket of IPv6", "a TCP socket", "a unix socket", "connect", "bind", "sendmsg to another address",
    "sendto another address", "sendmmsg to another address", "openat", "readlink", "statx", "fstatat",
    "mmap of a file in memory, to be executed",
  ]

  @Test("so does the process that runs modules of PAM", arguments: 0..<cconfined_count())
  func attemptAtModules(number: Int32) throws {
    _ = try #require(Self.pamFilter)
    let name = String(cString: cconfined_name(number))
    let confined = cconfined_try(number) { AuthConfinementTests.pamFilter?.load() ?? EINVAL }
    let expected =
      name.hasPrefix("the numbers of")
      ? Int32(CCONFINED_KILLED) : Self.asking.contains(name) ? 0 : name == "a netlink socket" ? EAFNOSUPPORT : EPERM
    #expect(confined == expected, "\(name): \(confined)")
  }

  private static let pageFilter = try? SystemCallFilter(WebFilter.rules(process: 0))

  /// It is given its connections, so it accepts none.
  @Test("so does the process that reads what browsers send", arguments: 0..<cconfined_count())
  func attemptAtPage(number: Int32) throws {
    _ = try #require(Self.pageFilter)
    let name = String(cString: cconfined_name(number))
    let confined = cconfined_try(number) { AuthConfinementTests.pageFilter?.load() ?? EINVAL }
    let expected = name.hasPrefix("the numbers of") ? Int32(CCONFINED_KILLED) : name == "sendmsg to another address" ? 0 : EPERM
    #expect(confined == expected, "\(name): \(confined)")
  }

  private static let pinFilter = try? SystemCallFilter(PinFilter.rules(process: 0))

  @Test("so does the program that reads a gateway's pin", arguments: 0..<cconfined_count())
  func attemptAtPin(number: Int32) throws {
    _ = try #require(Self.pinFilter)
    let name = String(cString: cconfined_name(number))
    let confined = cconfined_try(number) { AuthConfinementTests.pinFilter?.load() ?? EINVAL }
    let expected = name.hasPrefix("the numbers of") ? Int32(CCONFINED_KILLED) : EPERM
    #expect(confined == expected, "\(name): \(confined)")
  }
}
