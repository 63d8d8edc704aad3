internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import NameProtocol
internal import NetworkTypes

/// The sockets by which our name server asks others, by the way that their packets take.
enum QuestionPool: Hashable {
  /// They have our mark, so they pass every tunnel by.
  case outside
  case inside
  /// For programs with a route of their own, which has this number: they take that route.
  case ofRoute(UInt16)

  private static let firstRoute: UInt16 = 2

  /// The number of the pool for the process.
  var number: UInt16 {
    switch self {
    case .outside: 0
    case .inside: 1
    case .ofRoute(let number): Self.firstRoute + number
    }
  }

  init(_ number: UInt16) {
    self =
      switch number {
      case 0: .outside
      case 1: .inside
      default: .ofRoute(number - Self.firstRoute)
      }
  }

  /// The mark of its sockets. Any of them keeps a question from being captured.
  var mark: UInt32 {
    switch self {
    case .outside: Ownership.mark
    case .inside: Ownership.nameServerMark
    // With the mark of the programs, a question to a resolver of this machine would come back.
    case .ofRoute(ProgramNames.Route.outside): Ownership.mark
    case .ofRoute(let number): ProgramNames.Route(number: number, servers: []).mark
    }
  }

  /// The sockets of each family: with random identifiers 22 bits to guess, and 20 for routes of programs.
  var size: UInt16 { if case .ofRoute = self { 16 } else { 64 } }
}

/// The sockets for questions that one process has. They are renewed on another network.
struct QuestionSockets {
  /// Numbers are not used again while their socket is in a pool.
  private var next: UInt16 = 0
  /// The network that they were made on, and the pools.
  private var made: (network: String, pools: [QuestionPool])?
  /// The reason, for people, why a pool has fewer sockets than its size; `nil`: all are full.
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
    let pools = Self.pools(for: settings)
    if let made, made.network == settings.place, made.pools == pools { return [] }
    var orders: [(NameOrder, FileDescriptor?)] = []
    let before = made?.pools ?? []
    // Those for a route are not renewed with each program.
    let kept = made?.network == settings.place ? before.filter(pools.contains) : []
    if kept.isEmpty { shortage = nil }
    for pool in before where !pools.contains(pool) { orders.append((.pool(number: pool.number, v4: [], v6: []), nil)) }
    for pool in pools where !kept.contains(pool) { orders += try sockets(of: pool) }
    made = (settings.place, pools)
    return orders
  }

  private static func pools(for settings: NameServerSettings) -> [QuestionPool] {
    let ofRoutes = settings.programs?.routes.filter(\.hasPort).map { QuestionPool.ofRoute($0.number) } ?? []
    return (settings.asksNetworkInside ? [.inside] : [.outside, .inside]) + ofRoutes
  }

  private mutating func sockets(of pool: QuestionPool) throws(SystemError) -> [(NameOrder, FileDescriptor?)] {
    var orders: [(NameOrder, FileDescriptor?)] = []
    var numbers: [IPAddress.Family: [UInt16]] = [:]
    for family in IPAddress.Family.allCases {
      do throws(SystemError) {
        for _ in 0..<pool.size {
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
            + "\(pool.size), so forged answers are easier to guess: \(error); raise the limit of open files (LimitNOFILE=)"
        }
      }
    }
    guard !numbers.isEmpty else { throw SystemError(code: EADDRINUSE, operation: "bind sockets to random ports") }
    orders.append((.pool(number: pool.number, v4: numbers[.v4] ?? [], v6: numbers[.v6] ?? []), nil))
    return orders
  }
}
