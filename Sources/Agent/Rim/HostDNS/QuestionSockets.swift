internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import NameProtocol
internal import NetworkTypes

/// The sockets by which our name server asks others, by the way that their packets take.
enum QuestionPool: UInt16, CaseIterable {
  /// They have our mark, so they pass every tunnel by.
  case outside
  case inside
}

/// The sockets for questions that one process has. They are renewed on another network.
struct QuestionSockets {
  /// Of each pool and family: with random identifiers 22 bits to guess.
  private static let count: UInt16 = 64

  /// Numbers are not used again while their socket is in a pool.
  private var next: UInt16 = 0
  /// The network that they were made on, and whether none of them passes tunnels by.
  private var made: (network: String, isInside: Bool)?
  /// The reason, for people, why there are fewer sockets than `count`; `nil`: there are all.
  private(set) var shortage: String?
  private let make: (IPAddress.Family, QuestionPool) throws(SystemError) -> FileDescriptor

  /// `make`: makes a socket.
  init(
    make: @escaping (IPAddress.Family, QuestionPool) throws(SystemError) -> FileDescriptor = { family, pool throws(SystemError) in
      try NameServerSockets.question(family, pool)
    }
  ) {
    self.make = make
  }

  /// The messages that give the process new sockets, if these settings need some.
  mutating func renew(for settings: NameServerSettings) throws(SystemError) -> [(NameOrder, FileDescriptor?)] {
    let here = (network: settings.place, isInside: settings.asksNetworkInside)
    if let made, made == here { return [] }
    var orders: [(NameOrder, FileDescriptor?)] = []
    shortage = nil
    if here.isInside { orders.append((.pool(number: QuestionPool.outside.rawValue, v4: [], v6: []), nil)) }
    for pool in QuestionPool.allCases where pool == .inside || !here.isInside { orders += try sockets(of: pool) }
    made = here
    return orders
  }

  private mutating func sockets(of pool: QuestionPool) throws(SystemError) -> [(NameOrder, FileDescriptor?)] {
    var orders: [(NameOrder, FileDescriptor?)] = []
    var numbers: [IPAddress.Family: [UInt16]] = [:]
    for family in IPAddress.Family.allCases {
      do throws(SystemError) {
        for _ in 0..<Self.count {
          let socket = try make(family, pool)
          next &+= 1
          numbers[family, default: []].append(next)
          orders.append((.upstream(number: next), socket))
        }
      } catch {
        // Without IPv6 there are none of that family.
        if error.code != EAFNOSUPPORT && error.code != EADDRNOTAVAIL {
          shortage =
            "roamward-names asks name servers by \(numbers[family]?.count ?? 0) sockets of \(family == .v4 ? "IPv4" : "IPv6") instead of "
            + "\(Self.count), so forged answers are easier to guess: \(error); raise the limit of open files (LimitNOFILE=)"
        }
      }
    }
    guard !numbers.isEmpty else { throw SystemError(code: EADDRINUSE, operation: "bind sockets to random ports") }
    orders.append((.pool(number: pool.rawValue, v4: numbers[.v4] ?? [], v6: numbers[.v6] ?? []), nil))
    return orders
  }
}
